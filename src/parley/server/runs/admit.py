"""Slots: which pending runs may go to a worker. Oldest first, as many as the plan lets run at once.

A run holds a slot from its admission to its end, as an attempt at a scripted case does. Only admitted runs
are ever brought to workers, so a backlog, however long, costs its own account time and nobody else.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import text

from parley.server.accounts.lock import hold_account
from parley.server.db.database import Database
from parley.server.db.session import Session

_ADMIT = """
WITH slots AS (
    SELECT coalesce(accounts.own_concurrent_runs, plans.concurrent_runs) - (
               SELECT count(*) FROM runs
                WHERE runs.account_id = accounts.id
                  AND runs.state IN ('pending', 'running') AND runs.admitted_at IS NOT NULL
           ) - (
               SELECT count(*) FROM attempts
                WHERE attempts.account_id = accounts.id AND attempts.state IN ('queued', 'running')
           ) AS free
      FROM accounts JOIN plans ON plans.code = accounts.plan
     WHERE accounts.id = :account_id
), next AS (
    SELECT id FROM runs
     WHERE account_id = :account_id AND state = 'pending' AND admitted_at IS NULL
     ORDER BY id LIMIT (SELECT greatest(free, 0) FROM slots)
)
UPDATE runs SET admitted_at = clock_timestamp() FROM next
 WHERE runs.account_id = :account_id AND runs.id = next.id AND runs.state = 'pending'
RETURNING runs.id
"""
_ADMIT_STRAIGHT = _ADMIT.replace(":account_id", "$1")

# The accounts with waiting runs, one look into the index for each: however long the backlogs are, this
# reads as many rows as there are such accounts. Those without a free slot are left out, so that they
# cannot keep others off the list.
_WAITING = text("""
WITH RECURSIVE waiting AS (
    (SELECT account_id FROM runs WHERE state = 'pending' AND admitted_at IS NULL
      ORDER BY account_id LIMIT 1)
    UNION ALL
    SELECT (SELECT runs.account_id FROM runs
             WHERE runs.state = 'pending' AND runs.admitted_at IS NULL
               AND runs.account_id > waiting.account_id
             ORDER BY runs.account_id LIMIT 1)
      FROM waiting WHERE waiting.account_id IS NOT NULL
)
SELECT waiting.account_id
  FROM waiting
  JOIN accounts ON accounts.id = waiting.account_id
  JOIN plans ON plans.code = accounts.plan
 WHERE coalesce(accounts.own_concurrent_runs, plans.concurrent_runs) > (
           SELECT count(*) FROM runs
            WHERE runs.account_id = waiting.account_id
              AND runs.state IN ('pending', 'running') AND runs.admitted_at IS NOT NULL
       ) + (
           SELECT count(*) FROM attempts
            WHERE attempts.account_id = accounts.id AND attempts.state IN ('queued', 'running')
       )
 LIMIT :limit
""")


async def admit(session: Session, account_id: UUID) -> list[UUID]:
    """Give free slots to the account's oldest pending runs. The caller holds the account's row lock."""
    rows = await session.execute(text(_ADMIT), {"account_id": account_id})
    return sorted(row.id for row in rows)


async def admit_next(database: Database, account_id: UUID) -> list[UUID]:
    """After a run has ended: admit what fits now, in a transaction of its own."""
    async with database.raw() as connection, connection.transaction():
        if not await hold_account(connection, account_id):
            return []
        return sorted(row["id"] for row in await connection.fetch(_ADMIT_STRAIGHT, account_id))


async def admit_waiting(database: Database, limit: int = 100) -> list[UUID]:
    """Admit whatever a lost admission or a larger plan left behind, account by account."""
    async with database.session() as session:
        accounts = [row.account_id for row in await session.execute(_WAITING, {"limit": limit})]
    admitted: list[UUID] = []
    for account_id in accounts:
        admitted += await admit_next(database, account_id)
    return admitted
