"""Slots: which pending runs may go to a worker. Oldest first, as many as the plan lets run at once."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select, text

from parley.server.db.database import Database
from parley.server.db.session import Session
from parley.server.db.tables.accounts import Account

_ADMIT = text("""
WITH slots AS (
    SELECT plans.concurrent_runs - (
               SELECT count(*) FROM runs
                WHERE runs.account_id = accounts.id
                  AND (runs.state = 'running' OR (runs.state = 'pending' AND runs.admitted_at IS NOT NULL))
           ) AS free
      FROM accounts JOIN plans ON plans.code = accounts.plan
     WHERE accounts.id = :account_id
), next AS (
    SELECT id FROM runs
     WHERE account_id = :account_id AND state = 'pending' AND admitted_at IS NULL
     ORDER BY id LIMIT (SELECT greatest(free, 0) FROM slots)
)
UPDATE runs SET admitted_at = now() FROM next
 WHERE runs.account_id = :account_id AND runs.id = next.id AND runs.state = 'pending'
RETURNING runs.id
""")

_WAITING = text("""
SELECT DISTINCT account_id FROM runs WHERE state = 'pending' AND admitted_at IS NULL LIMIT :limit
""")


async def admit(session: Session, account_id: UUID) -> list[UUID]:
    """Give free slots to the account's oldest pending runs. The caller holds the account's row lock."""
    rows = await session.execute(_ADMIT, {"account_id": account_id})
    return [row.id for row in rows]


async def lock_account(session: Session, account_id: UUID) -> Account | None:
    """The account's row, held to the end of the transaction: the first lock of every move of a slot."""
    statement = select(Account).where(Account.id == account_id).with_for_update(key_share=True)
    return await session.scalar(statement)


async def admit_next(database: Database, account_id: UUID) -> list[UUID]:
    """After a run has ended: admit what fits now, in a transaction of its own."""
    async with database.session() as session:
        if await lock_account(session, account_id) is None:
            return []
        return await admit(session, account_id)


async def admit_waiting(database: Database, limit: int = 100) -> list[UUID]:
    """Admit whatever a lost admission left behind, account by account."""
    async with database.session() as session:
        accounts = [row.account_id for row in await session.execute(_WAITING, {"limit": limit})]
    admitted: list[UUID] = []
    for account_id in accounts:
        admitted += await admit_next(database, account_id)
    return admitted
