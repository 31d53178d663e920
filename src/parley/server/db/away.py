"""Telling "the database is away" from "the statement is wrong"."""

from __future__ import annotations

import asyncpg
from sqlalchemy import exc

_AWAY_STATES = (
    "08",  # connection faults
    "25P03",  # silent within a transaction for too long: paused, or behind a dead network
    "25006",  # a standby, or a server that fails over: it reads and does not write
    "40001",  # lost against another transaction; the same work may succeed when it is done again
    "40P01",  # the same: a deadlock
    "53",  # out of connections, memory or disk
    "57014",  # slower than the statement timeout
    "57P",  # shutdown, crash, start-up
    "58",  # faults of its machine
)
"""What passes by itself (PostgreSQL, appendix A): who waits and repeats the work loses nothing."""

_DEAD_WORDS = ("closed", "released", "cancelling")
"""What the driver says of a connection that is of no use any more."""


def is_away(fault: BaseException) -> bool:
    """Whether `fault` says that the database cannot be used now, rather than that we misused it.

    A statement that got no answer in time raises the plain TimeoutError.
    """
    if isinstance(fault, exc.TimeoutError | TimeoutError):
        return True
    if isinstance(fault, exc.DBAPIError):
        found = (fault.orig, fault.orig.__cause__ if fault.orig else None)  # SQLAlchemy's, and the driver's
        return fault.connection_invalidated or any(map(_has_away_state, found))
    return _has_away_state(fault)


def _has_away_state(fault: BaseException | None) -> bool:
    if isinstance(fault, asyncpg.PostgresConnectionError | asyncpg.InternalClientError):
        return True  # the latter: the server has said farewell, and the connection is not closed yet
    if isinstance(fault, asyncpg.InterfaceError):
        return any(word in str(fault) for word in _DEAD_WORDS)
    state = getattr(fault, "sqlstate", None) or ""
    return bool(state) and state.startswith(_AWAY_STATES)
