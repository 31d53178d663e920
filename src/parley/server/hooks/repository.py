"""SQL of hook keys, and of what runs show to their hooks."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert

from parley.server.db.raw import RawConnection
from parley.server.db.session import Session
from parley.server.db.tables import HookKey

_DECIDE = """
INSERT INTO hook_credentials (account_id, run_id, sealed)
SELECT account_id, id, $3 FROM runs WHERE account_id = $1 AND id = $2
ON CONFLICT DO NOTHING
"""
_DECIDED = "SELECT sealed FROM hook_credentials WHERE account_id = $1 AND run_id = $2"
_KEY = "SELECT sealed_key FROM hook_keys WHERE account_id = $1"


async def put_key(session: Session, account_id: UUID, sealed_key: bytes) -> datetime:
    """Store the account's key in place of the one before. When that was."""
    statement = insert(HookKey).values(account_id=account_id, sealed_key=sealed_key)
    statement = statement.on_conflict_do_update(
        index_elements=["account_id"],
        set_={"sealed_key": statement.excluded.sealed_key, "rolled_at": func.now()},
    )
    return (await session.execute(statement.returning(HookKey.rolled_at))).scalar_one()


async def rolled_at(session: Session, account_id: UUID) -> datetime | None:
    """When the account's key was stored; None if it has none."""
    statement = select(HookKey.rolled_at).where(HookKey.account_id == account_id)
    return (await session.execute(statement)).scalar_one_or_none()


async def key_of(connection: RawConnection, account_id: UUID) -> bytes | None:
    """The account's sealed key."""
    found: bytes | None = await connection.fetchval(_KEY, account_id)
    return found


async def decided(connection: RawConnection, account_id: UUID, run_id: UUID) -> tuple[bytes | None] | None:
    """What was decided for a run: sealed credentials or none; None when nothing was decided yet."""
    row = await connection.fetchrow(_DECIDED, account_id, run_id)
    return None if row is None else (row["sealed"],)


async def decide(connection: RawConnection, account_id: UUID, run_id: UUID, sealed: bytes | None) -> None:
    """Store what a run shows. The first to decide does so for good."""
    await connection.execute(_DECIDE, account_id, run_id, sealed)
