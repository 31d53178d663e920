"""Telling "the database is away" from "the statement is wrong"."""

from __future__ import annotations

import asyncpg
from sqlalchemy import exc

_AWAY_STATES = ("08", "57P01", "57P02", "57P03", "53300", "53400")
"""Connection faults, shutdown, start-up, too many connections (PostgreSQL, appendix A)."""


def is_away(fault: BaseException) -> bool:
    """Whether `fault` says that the database cannot be used now, rather than that we misused it."""
    if isinstance(fault, exc.TimeoutError):
        return True
    if isinstance(fault, exc.DBAPIError):
        return fault.connection_invalidated or _has_away_state(fault.orig)
    return _has_away_state(fault)


def _has_away_state(fault: BaseException | None) -> bool:
    if isinstance(fault, asyncpg.PostgresConnectionError):
        return True
    if isinstance(fault, asyncpg.InterfaceError):
        return "closed" in str(fault) or "released" in str(fault)
    state = getattr(fault, "sqlstate", None) or ""
    return bool(state) and state.startswith(_AWAY_STATES)
