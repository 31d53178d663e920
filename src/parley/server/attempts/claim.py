"""Who holds an attempt: claims on the database's clock, and what a claimed one is played from.

These are statements of the system: they pick attempts of all accounts, and take the account from the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID, uuid4

import asyncpg

from parley.engine.script.record import AttemptRecord
from parley.engine.script.shapes import Case
from parley.server.attempts.keep import Funds, Held
from parley.server.attempts.plans import plan_of
from parley.server.attempts.playing import Work
from parley.server.attempts.schemas import TargetKind
from parley.server.db.database import Database

# Accounts take turns, so that one account's thousand attempts do not hold up another's one.
_CLAIM: Final = """
WITH due AS (
    SELECT account_id, id FROM (
        SELECT account_id, id, row_number() OVER (PARTITION BY account_id ORDER BY id) AS turn
          FROM attempts
         WHERE (state = 'queued' OR state = 'running' AND (lease_until IS NULL OR lease_until < now()))
           AND target = ANY($5)
    ) AS in_turn ORDER BY turn, id LIMIT $1
), held AS (
    SELECT attempts.account_id, attempts.id FROM attempts JOIN due USING (account_id, id)
     WHERE state = 'queued' OR state = 'running' AND (lease_until IS NULL OR lease_until < now())
       FOR UPDATE OF attempts SKIP LOCKED
)
UPDATE attempts
   SET state = 'running', takes = takes + 1, lease_token = $2, worker = $4,
       lease_until = now() + make_interval(secs => $3), started_at = coalesce(started_at, now()),
       updated_at = now()
  FROM held WHERE attempts.account_id = held.account_id AND attempts.id = held.id
RETURNING attempts.account_id, attempts.id, attempts.evaluation_id, attempts.result_id
"""

# Each attempt is read by the account it was claimed with, the suite without its cases.
_READ: Final = """
SELECT attempts.id, attempts.session_id, attempts.repetition, attempts.target AS target_kind, attempts.takes,
       attempts.cursor, attempts.record, attempts.last_charge, attempts.replay_safe,
       attempts.cancel_requested_at IS NOT NULL AS is_cancelled,
       evaluation_cases.content, evaluations.commit,
       script_plans.suite - 'cases' AS suite, script_plans.revision, script_plans.evidence,
       script_plans.target, script_plans.judge,
       accounts.balance, accounts.status = 'active' AS is_active, plans.metered, plans.multiplier
  FROM unnest($1::uuid[], $2::uuid[]) AS held(account_id, id)
  JOIN attempts USING (account_id, id)
  JOIN evaluation_cases ON evaluation_cases.account_id = attempts.account_id
                       AND evaluation_cases.evaluation_id = attempts.evaluation_id
                       AND evaluation_cases.case_id = attempts.case_id
  JOIN evaluations ON evaluations.account_id = attempts.account_id
                  AND evaluations.id = attempts.evaluation_id
  JOIN script_plans ON script_plans.account_id = attempts.account_id
                   AND script_plans.evaluation_id = attempts.evaluation_id
  JOIN accounts ON accounts.id = attempts.account_id
  JOIN plans ON plans.code = accounts.plan
"""


async def claim(
    database: Database, limit: int, lease_s: float, worker: str, kinds: Sequence[TargetKind]
) -> list[Held]:
    """Take up to `limit` attempts that wait, or whose worker is lost, for `lease_s` seconds.

    `kinds` are the targets that this process can play: others are left to those who can.
    """
    token = uuid4()
    async with database.raw() as connection:
        rows = await connection.fetch(_CLAIM, limit, token, lease_s, worker, list(kinds))
    return [
        Held(
            account_id=row["account_id"],
            evaluation_id=row["evaluation_id"],
            result_id=row["result_id"],
            attempt_id=row["id"],
            token=token,
        )
        for row in rows
    ]


async def read(database: Database, held: Sequence[Held]) -> Mapping[UUID, Work]:
    """What these attempts are played from, by their ids; those that are gone are left out."""
    if not held:
        return {}
    of = {one.attempt_id: one for one in held}
    async with database.raw() as connection:
        rows = await connection.fetch(_READ, [one.account_id for one in held], list(of))
    return {row["id"]: _work(of[row["id"]], row) for row in rows}


def _work(held: Held, row: asyncpg.Record) -> Work:
    judge = row["judge"]
    plan = plan_of(
        suite=row["suite"],
        case=Case.of_wire(row["content"]),
        revision=row["revision"],
        evidence=row["evidence"],
        judge=judge,
        attempt_id=held.attempt_id,
        session_id=row["session_id"],
        repetition=row["repetition"],
        commit=row["commit"],
    )
    kept = row["record"]
    return Work(
        held=held,
        plan=plan,
        target_kind=row["target_kind"],
        target=row["target"],
        judge=judge,
        takes=row["takes"],
        cursor=row["cursor"],
        record=None if kept is None else AttemptRecord.of_wire(kept),
        last_charge=row["last_charge"],
        is_cancelled=row["is_cancelled"],
        replay_safe=row["replay_safe"],
        funds=Funds(balance=row["balance"], is_active=row["is_active"], metered=row["metered"]),
        multiplier=row["multiplier"],
    )
