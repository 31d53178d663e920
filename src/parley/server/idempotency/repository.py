"""SQL of idempotency keys."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from sqlalchemy import delete, func, select, tuple_
from sqlalchemy.dialects.postgresql import insert

from parley.server.db.repository import SystemScope
from parley.server.db.session import Session
from parley.server.db.tables import IdempotencyKey


async def claim(
    session: Session,
    account_id: UUID,
    route: str,
    key: str,
    body_sha256: bytes,
    resource_id: UUID,
    kept_for: timedelta,
) -> bool:
    """Take the key for this resource; waits for a twin's transaction. False if it is taken."""
    statement = insert(IdempotencyKey).values(
        account_id=account_id, route=route, key=key, body_sha256=body_sha256, resource_id=resource_id
    )
    statement = statement.on_conflict_do_update(
        index_elements=["account_id", "route", "key"],
        set_={
            "body_sha256": statement.excluded.body_sha256,
            "resource_id": statement.excluded.resource_id,
            "created_at": func.now(),
        },
        where=IdempotencyKey.created_at < func.now() - kept_for,
    )
    taken = await session.execute(statement.returning(IdempotencyKey.resource_id))
    return taken.first() is not None


async def find(session: Session, account_id: UUID, route: str, key: str) -> IdempotencyKey | None:
    """The row of a key."""
    return await session.scalar(
        select(IdempotencyKey).where(
            IdempotencyKey.account_id == account_id, IdempotencyKey.route == route, IdempotencyKey.key == key
        )
    )


async def delete_older(session: Session, _scope: SystemScope, kept_for: timedelta, limit: int) -> int:
    """Delete at most `limit` keys of any account that are older than `kept_for`."""
    row = tuple_(IdempotencyKey.account_id, IdempotencyKey.route, IdempotencyKey.key)
    old = (
        select(IdempotencyKey.account_id, IdempotencyKey.route, IdempotencyKey.key)
        .where(IdempotencyKey.created_at < func.now() - kept_for)
        .limit(limit)
    )
    deleted = await session.execute(delete(IdempotencyKey).where(row.in_(old)).returning(IdempotencyKey.key))
    return len(deleted.all())
