"""Who holds a run: claim, heartbeat and release, on the database's clock.

These are statements of the system: they pick runs of all accounts by id, and take the account from
the row they find.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

from parley.server.db.database import Database
from parley.server.journal.keep import Lease, Standing

_CLAIM = """
WITH found AS (
    SELECT account_id, id, state, lease_token FROM runs
     WHERE id = $1
       AND ((state = 'pending' AND admitted_at IS NOT NULL)
            OR (state = 'running' AND (lease_until IS NULL OR lease_until < now())))
       FOR UPDATE SKIP LOCKED
)
UPDATE runs SET state = 'running', lease_token = $2, lease_until = now() + make_interval(secs => $3),
                started_at = coalesce(started_at, now()), updated_at = now()
  FROM found
  JOIN accounts ON accounts.id = found.account_id
  JOIN plans ON plans.code = accounts.plan
 WHERE runs.account_id = found.account_id AND runs.id = found.id
RETURNING runs.account_id, runs.test_id, runs.definition, runs.seed, runs.external_user_id, runs.last_seq,
          extract(epoch FROM now() - runs.started_at)::float8 AS age_s,
          found.state = 'running' AND found.lease_token IS NOT NULL AS taken_over,
          accounts.balance, accounts.status = 'active' AS active, plans.metered, plans.multiplier,
          runs.cancel_requested_at IS NOT NULL AS cancelled
"""

_RENEW = """
UPDATE runs SET lease_until = now() + make_interval(secs => $4)
 WHERE account_id = $1 AND id = $2 AND lease_token = $3 AND state = 'running'
RETURNING id
"""

_LOOK = """
SELECT runs.id FROM runs
 WHERE runs.id = ANY($1::uuid[]) AND runs.cancel_requested_at IS NOT NULL
"""

_RELEASE = """
UPDATE runs SET lease_token = NULL, lease_until = NULL, updated_at = now()
 WHERE account_id = $1 AND id = $2 AND lease_token = $3 AND state = 'running'
"""

# Accounts take turns: everybody's longest waiting run comes before anybody's second one.
_DUE = """
SELECT id FROM (
    SELECT id, since, row_number() OVER (PARTITION BY account_id ORDER BY since, id) AS turn
      FROM (
        SELECT account_id, id, coalesce(lease_until, admitted_at) AS since FROM runs
         WHERE state IN ('pending', 'running') AND admitted_at IS NOT NULL
           AND ((state = 'pending' AND admitted_at < now() - make_interval(secs => $2))
                OR (state = 'running' AND (lease_until IS NULL OR lease_until < now())))
      ) AS due
  ) AS in_turn
 ORDER BY turn, since, id
 LIMIT $1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A run that this worker holds now. `age_s` is the time since its start, `multiplier` the plan's;
    `last_seq` the number of its last entry, 0 if it has none."""

    lease: Lease
    test_id: UUID
    definition: dict[str, Any]
    seed: int
    external_user_id: str | None
    last_seq: int
    age_s: float
    taken_over: bool
    standing: Standing
    multiplier: Decimal


async def claim(database: Database, run_id: UUID, lease_s: float) -> Claimed | None:
    """Take the run if it waits for a worker, or if its worker is lost. None if somebody else has it."""
    token = uuid4()
    async with database.raw() as connection:
        row = await connection.fetchrow(_CLAIM, run_id, token, lease_s)
    if row is None:
        return None
    return Claimed(
        lease=Lease(account_id=row["account_id"], run_id=run_id, token=token, seconds=lease_s),
        test_id=row["test_id"],
        definition=row["definition"],
        seed=row["seed"],
        external_user_id=row["external_user_id"],
        last_seq=row["last_seq"],
        age_s=row["age_s"],
        taken_over=row["taken_over"],
        multiplier=row["multiplier"],
        standing=Standing(
            balance=row["balance"],
            account_active=row["active"],
            metered=row["metered"],
            cancel_requested=row["cancelled"],
        ),
    )


async def renew(database: Database, leases: Sequence[Lease], lease_s: float) -> set[UUID]:
    """Renew leases in one transaction. The ids that are still ours.

    In the order in which groups of entries lock runs, so that neither waits for the other.
    """
    held = sorted((lease.account_id, lease.run_id, lease.token, lease_s) for lease in leases)
    async with database.raw() as connection:
        rows = await connection.fetchmany(_RENEW, held)
    return {row["id"] for row in rows}


async def cancelled_among(database: Database, run_ids: Sequence[UUID]) -> set[UUID]:
    """Which of these runs somebody wants to cancel."""
    async with database.raw() as connection:
        rows = await connection.fetch(_LOOK, run_ids)
    return {row["id"] for row in rows}


async def release(database: Database, lease: Lease) -> None:
    """Leave the run to whoever comes next; no time is lost, and it does not count as a takeover."""
    async with database.raw() as connection:
        await connection.execute(_RELEASE, lease.account_id, lease.run_id, lease.token)


async def due(database: Database, limit: int, patience_s: float) -> list[UUID]:
    """Runs that wait, accounts in turn: their worker is gone, or none has come for `patience_s`."""
    async with database.raw() as connection:
        rows = await connection.fetch(_DUE, limit, patience_s)
    return [row["id"] for row in rows]
