"""What a scorer reads: the results it holds, each with its case, its run's grader and its account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import asyncpg

from parley.server.custom_evaluations.payment import Funds
from parley.server.db.database import Database
from parley.server.evaluations.scoring import Claimed

# Scorers are of all accounts; each result is read by the account it was claimed with.
_READ: Final = """
SELECT case_results.id, case_results.case_id, case_results.kind, case_results.transcript,
       case_results.duration_ms, evaluation_cases.content, evaluations.grading, evaluations.pass_rating,
       case_results.run_id, runs.definition, runs.seed,
       accounts.balance, accounts.status = 'active' AS is_active, plans.metered, plans.multiplier
  FROM unnest($1::uuid[], $2::uuid[]) AS held(account_id, id)
  JOIN case_results USING (account_id, id)
  JOIN evaluation_cases ON evaluation_cases.account_id = case_results.account_id
                       AND evaluation_cases.evaluation_id = case_results.evaluation_id
                       AND evaluation_cases.case_id = case_results.case_id
  JOIN evaluations ON evaluations.account_id = case_results.account_id
                  AND evaluations.id = case_results.evaluation_id
  LEFT JOIN runs ON runs.account_id = case_results.account_id AND runs.id = case_results.run_id
  JOIN accounts ON accounts.id = case_results.account_id
  JOIN plans ON plans.code = accounts.plan
"""

# A scorer may die after the last score and before the evaluation is completed.
_FORGOTTEN: Final = """
SELECT account_id, id FROM evaluations
 WHERE state = 'scoring' AND NOT EXISTS (
       SELECT FROM case_results
        WHERE case_results.account_id = evaluations.account_id AND case_results.evaluation_id = evaluations.id
          AND case_results.status IN ('pending', 'scoring'))
 ORDER BY id LIMIT 100
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The run of a simulated case: what it was started with. Its words stand in the journal."""

    run_id: UUID
    definition: dict[str, Any]
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a score is made of. `funds` is how the account stood when this was read.

    `run` is None of a custom case, and of a simulated one whose run is gone.
    """

    case_id: str
    kind: str
    run: Held | None
    transcript: dict[str, Any]
    duration_ms: int | None
    content: dict[str, Any]
    grading: dict[str, Any]
    pass_rating: Decimal | None
    funds: Funds


async def read(database: Database, held: Sequence[Claimed]) -> Mapping[UUID, Work]:
    """The work of each result by its id; those that are gone are left out. One statement."""
    if not held:
        return {}
    accounts, ids = [each.account_id for each in held], [each.result_id for each in held]
    async with database.raw() as connection:
        rows = await connection.fetch(_READ, accounts, ids)
    return {row["id"]: _work(row) for row in rows}


async def forgotten(database: Database) -> list[tuple[UUID, UUID]]:
    """Account and id of evaluations that wait for scores and have them all."""
    async with database.raw() as connection:
        return [(row["account_id"], row["id"]) for row in await connection.fetch(_FORGOTTEN)]


def _work(row: asyncpg.Record) -> Work:
    run = None
    if row["definition"] is not None:
        run = Held(run_id=row["run_id"], definition=row["definition"], seed=row["seed"])
    return Work(
        case_id=row["case_id"],
        kind=row["kind"],
        run=run,
        transcript=row["transcript"] or {},
        duration_ms=row["duration_ms"],
        content=row["content"],
        grading=row["grading"],
        pass_rating=row["pass_rating"],
        funds=Funds(
            balance=row["balance"],
            is_active=row["is_active"],
            metered=row["metered"],
            multiplier=row["multiplier"],
        ),
    )
