"""Overrides: accounts whose runs are kept for another time than everyone's. Operators make them."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import delete, func
from sqlalchemy.dialects.postgresql import insert

from parley.server.accounts.lock import lock_account
from parley.server.db.session import Session
from parley.server.db.tables import RetentionOverride
from parley.server.errors import InvalidRequest, NotFound
from parley.server.retention.policy import LONGEST_DAYS, SHORTEST_DAYS


async def set_override(session: Session, account_id: UUID, days: int | None) -> None:
    """Keep the runs of an account for `days` from their end; None: as everyone's.

    Holds from the next pass of retention on. The caller writes the operator's act in the same transaction.
    Raises `NotFound`, and `InvalidRequest` for days out of 1..36,500.
    """
    if days is not None and not SHORTEST_DAYS <= days <= LONGEST_DAYS:
        raise InvalidRequest.field("days", f"should be {SHORTEST_DAYS} to {LONGEST_DAYS}, or null")
    await _require(session, account_id)
    if days is None:
        await session.execute(delete(RetentionOverride).where(RetentionOverride.account_id == account_id))
        return
    statement = insert(RetentionOverride).values(account_id=account_id, days=days)
    changed = {"days": statement.excluded.days, "set_at": func.now()}
    await session.execute(statement.on_conflict_do_update(index_elements=["account_id"], set_=changed))


async def override_of(session: Session, account_id: UUID) -> int | None:
    """The days of an account; None: as everyone's. Raises `NotFound`."""
    await _require(session, account_id)
    found = await session.get(RetentionOverride, account_id, populate_existing=True)
    return None if found is None else found.days


async def _require(session: Session, account_id: UUID) -> None:
    if await lock_account(session, account_id) is None:
        raise NotFound("There is no such account.")
