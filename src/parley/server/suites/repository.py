"""SQL of suites and of the evaluations that are carried out. Runs, attempts and results are only read here.

Every statement reads the database's clock; a row that is held is skipped by every other worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Select, Text, bindparam, func, text
from sqlalchemy.orm import defer

from parley.server.db.repository import Repository
from parley.server.db.session import Session
from parley.server.db.tables import Suite, SuiteProgress
from parley.server.suites.steps import Standing

# In an order of chance: workers at work at once take different evaluations. What has ended is looked at
# whenever it was to be looked at next, so that a cancel reaches the runs at once.
_DUE = text("""
SELECT progress.account_id, progress.evaluation_id
  FROM suite_progress AS progress
  JOIN evaluations ON evaluations.account_id = progress.account_id
                  AND evaluations.id = progress.evaluation_id
 WHERE progress.looked_at_from <= now() OR evaluations.ended_at IS NOT NULL
 ORDER BY random() LIMIT :limit
""")

_HOLD = text("""
SELECT id FROM suite_progress WHERE account_id = :account_id AND evaluation_id = :evaluation_id
   FOR UPDATE SKIP LOCKED
""")

_PUT_OFF = text("""
UPDATE suite_progress SET looked_at_from = clock_timestamp() + make_interval(secs => :seconds)
 WHERE account_id = :account_id AND evaluation_id = :evaluation_id
""")

_LET_GO = text("DELETE FROM suite_progress WHERE account_id = :account_id AND evaluation_id = :evaluation_id")

_STANDING = text("""
SELECT evaluations.state, evaluations.options,
       coalesce(evaluations.expected_count, evaluations.case_count * evaluations.repetitions) AS expected,
       count(results.id) AS begun,
       count(results.id) FILTER (WHERE results.status = 'pending') AS open,
       coalesce(sum(CASE WHEN results.status = 'pending' THEN coalesce(runs.cost, attempts.charged)
                         ELSE results.cost END), 0) AS spent,
       count(runs.id) FILTER (WHERE runs.state IN ('pending', 'running'))
       + count(attempts.id) FILTER (WHERE attempts.state IN ('queued', 'running')) AS open_runs
  FROM evaluations
  LEFT JOIN case_results AS results
    ON results.account_id = evaluations.account_id AND results.evaluation_id = evaluations.id
  LEFT JOIN runs ON runs.account_id = results.account_id AND runs.id = results.run_id
  LEFT JOIN attempts ON attempts.account_id = results.account_id AND attempts.result_id = results.id
 WHERE evaluations.account_id = :account_id AND evaluations.id = :evaluation_id
 GROUP BY evaluations.account_id, evaluations.id
""")

# All cases once before any of them again: whatever stops an evaluation early, it has seen most of them.
# A case whose lock is taken is not in turn, so that it keeps no place from the others.
_OWED = text("""
SELECT cases.case_id, places.repetition
  FROM evaluations
  JOIN evaluation_cases AS cases
    ON cases.account_id = evaluations.account_id AND cases.evaluation_id = evaluations.id
 CROSS JOIN LATERAL generate_series(1, coalesce(cases.repetitions, evaluations.repetitions))
       AS places (repetition)
 WHERE evaluations.account_id = :account_id AND evaluations.id = :evaluation_id
   AND NOT EXISTS (
       SELECT FROM case_results AS results
        WHERE results.account_id = cases.account_id AND results.evaluation_id = cases.evaluation_id
          AND results.case_id = cases.case_id AND results.repetition = places.repetition)
   AND (:locked_too OR cases.kind <> 'scripted' OR NOT EXISTS (
       SELECT FROM attempts
        WHERE attempts.account_id = cases.account_id AND attempts.evaluation_id = cases.evaluation_id
          AND attempts.state IN ('queued', 'running') AND attempts.lock = cases.content ->> 'lock'))
 ORDER BY places.repetition, cases.index, cases.case_id LIMIT :limit
""")

_CASE = text("""
SELECT kind, content FROM evaluation_cases
 WHERE account_id = :account_id AND evaluation_id = :evaluation_id AND case_id = :case_id
""")

_OPEN_RUNS = text("""
SELECT runs.test_id, runs.id FROM case_results AS results
  JOIN runs ON runs.account_id = results.account_id AND runs.id = results.run_id
 WHERE results.account_id = :account_id AND results.evaluation_id = :evaluation_id
   AND runs.state IN ('pending', 'running') AND runs.cancel_requested_at IS NULL
 ORDER BY runs.id
""")

# By evaluation, so that reactions at work at once lock evaluations in one order.
_ENDS = text("""
SELECT results.evaluation_id, results.id AS result_id, runs.id AS run_id, runs.state, runs.outcome,
       runs.result, runs.error, runs.cost,
       (SELECT sum((entries.body #>> '{timing,took_ms}')::numeric)::bigint FROM entries
         WHERE entries.account_id = runs.account_id AND entries.run_id = runs.id
           AND entries.kind = 'assistant') AS agent_ms,
       (SELECT entries.body ->> 'reasoning' FROM entries
         WHERE entries.account_id = runs.account_id AND entries.run_id = runs.id
           AND entries.kind = 'opinion' ORDER BY entries.seq DESC LIMIT 1) AS reasoning
  FROM case_results AS results
  JOIN runs ON runs.account_id = results.account_id AND runs.id = results.run_id
 WHERE results.account_id = :account_id AND results.run_id = ANY(:run_ids)
   AND runs.trigger = 'suite' AND runs.finished_at IS NOT NULL
 ORDER BY results.evaluation_id, runs.id
""")

_DUE_SUITES = text("""
SELECT account_id, id FROM suites WHERE next_run_at <= now() ORDER BY random() LIMIT :limit
""")

_HOLD_DUE_SUITE = text("""
SELECT suites.cron, suites.next_run_at, now() AS now,
       EXISTS (SELECT FROM evaluations
                WHERE evaluations.account_id = suites.account_id AND evaluations.suite_id = suites.id
                  AND evaluations.run_source = 'schedule'
                  AND evaluations.state IN ('in_progress', 'scoring')) AS is_open
  FROM suites
 WHERE suites.account_id = :account_id AND suites.id = :id AND suites.next_run_at <= now()
   FOR NO KEY UPDATE OF suites SKIP LOCKED
""")

_SETTLE_SUITE = text("""
UPDATE suites SET next_run_at = :next_run_at,
       last_skip_due_at = CASE WHEN :reason IS NULL THEN last_skip_due_at ELSE next_run_at END,
       last_skip_reason = coalesce(:reason, last_skip_reason)
 WHERE account_id = :account_id AND id = :id
""").bindparams(bindparam("reason", type_=Text))

# Contents stay in the database: those with scripts are large. Splits in the order of the cases.
_OUTLINES = text("""
SELECT suites.id, suites.content ->> 'description' AS description,
       jsonb_array_length(cases.all) AS case_count,
       ARRAY(SELECT split FROM (
           SELECT splits.split, row_number() OVER (ORDER BY placed.at, splits.at) AS at
             FROM jsonb_array_elements(cases.all) WITH ORDINALITY AS placed (body, at),
                  jsonb_array_elements_text(placed.body -> 'splits') WITH ORDINALITY AS splits (split, at)
       ) AS named GROUP BY split ORDER BY min(at)) AS splits
  FROM suites CROSS JOIN LATERAL (
       SELECT (suites.content -> 'cases')
              || coalesce(suites.content #> '{script,suite,cases}', '[]') AS all) AS cases
 WHERE suites.account_id = :account_id AND suites.id = ANY(:ids)
""")

_TEST_NAMES = text("""
SELECT id, name FROM agentic_tests
 WHERE account_id = :account_id AND id = ANY(:ids) AND deleted_at IS NULL
""")


@dataclass(frozen=True, slots=True)
class Key:
    """An evaluation of an account."""

    account_id: UUID
    evaluation_id: UUID

    @property
    def values(self) -> dict[str, Any]:
        """As statements take it."""
        return {"account_id": self.account_id, "evaluation_id": self.evaluation_id}


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """A case and a repetition that have no result yet."""

    case_id: str
    repetition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """The end of a run that carried out a case."""

    evaluation_id: UUID
    result_id: UUID
    run_id: UUID
    state: str
    outcome: str | None
    result: dict[str, Any] | None
    error: dict[str, Any] | None
    cost_usd: Decimal
    agent_ms: int | None
    """How long the agent took, all its rounds together."""
    reasoning: str | None
    """The judge's, of its last opinion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What a list tells of a suite's content."""

    description: str | None
    case_count: int
    splits: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DueSuite:
    """A suite whose time has come, held to the end of the transaction."""

    cron: str
    now: datetime
    is_open: bool
    """Whether an evaluation that its schedule began is open still."""


class SuiteRepository(Repository[Suite]):
    """The suites in scope."""

    table = Suite

    def live(self) -> Select[Suite]:
        """A SELECT of the suites that are not deleted."""
        return self.rows().where(Suite.deleted_at.is_(None))

    async def get_live(self, suite_id: UUID, *, lock: bool = False) -> Suite | None:
        """The suite, unless it is deleted; `lock` holds it to the end of the transaction."""
        statement = self.live().where(Suite.id == suite_id)
        return cast(
            "Suite | None", await self.session.scalar(statement.with_for_update() if lock else statement)
        )

    def listed(self) -> Select[Suite]:
        """The same without their contents."""
        return self.live().options(defer(Suite.content, raiseload=True))

    async def outlines(self, account_id: UUID, suite_ids: Sequence[UUID]) -> dict[UUID, Outline]:
        """What a list tells of the contents of these suites."""
        rows = await self.session.execute(_OUTLINES, {"account_id": account_id, "ids": list(suite_ids)})
        return {
            row.id: Outline(description=row.description, case_count=row.case_count, splits=list(row.splits))
            for row in rows
        }

    async def test_names(self, account_id: UUID, test_ids: Sequence[UUID]) -> dict[UUID, str]:
        """The names of those of these tests that there are."""
        rows = await self.session.execute(_TEST_NAMES, {"account_id": account_id, "ids": list(test_ids)})
        return {row.id: row.name for row in rows}

    async def now(self) -> datetime:
        """The database's clock."""
        moment: datetime = (await self.session.execute(func.now().select())).scalar_one()
        return moment

    async def hold_due(self, account_id: UUID, suite_id: UUID) -> DueSuite | None:
        """A suite that is due, unless somebody else is at it."""
        values = {"account_id": account_id, "id": suite_id}
        row = (await self.session.execute(_HOLD_DUE_SUITE, values)).one_or_none()
        if row is None:
            return None
        return DueSuite(cron=row.cron or "", now=row.now, is_open=row.is_open)

    async def settle(
        self, account_id: UUID, suite_id: UUID, next_run_at: datetime | None, reason: str | None
    ) -> None:
        """Let a held suite go, due at its next time; with a `reason` this time was left out."""
        values = {"account_id": account_id, "id": suite_id, "next_run_at": next_run_at, "reason": reason}
        await self.session.execute(_SETTLE_SUITE, values)


class ProgressRepository(Repository[SuiteProgress]):
    """The evaluations of suites that are being carried out, of one account."""

    table = SuiteProgress

    async def hold(self, key: Key) -> bool:
        """Hold the right to the evaluation's next step. False if somebody else does, or if it is over."""
        return await self.session.scalar(_HOLD, key.values) is not None

    async def standing(self, key: Key) -> Standing:
        """Where an evaluation stands, and what it was asked for."""
        row = (await self.session.execute(_STANDING, key.values)).one()
        budget = row.options.get("budget_usd")
        return Standing(
            state=row.state,
            owed=row.expected - row.begun,
            open=row.open,
            open_runs=row.open_runs,
            concurrency=row.options["concurrency"],
            spent_usd=row.spent,
            budget_usd=None if budget is None else Decimal(str(budget)),
            seed=row.options["seed"],
        )

    async def owed(self, key: Key, limit: int, *, locked_too: bool) -> list[Owed]:
        """Up to `limit` places without a result, in the order in which they are begun."""
        values = key.values | {"limit": limit, "locked_too": locked_too}
        rows = await self.session.execute(_OWED, values)
        return [Owed(case_id=row.case_id, repetition=row.repetition) for row in rows]

    async def case(self, key: Key, case_id: str) -> tuple[str, dict[str, Any]]:
        """Kind and content of a frozen case."""
        row = (await self.session.execute(_CASE, key.values | {"case_id": case_id})).one()
        return row.kind, row.content

    async def open_runs(self, key: Key) -> list[tuple[UUID, UUID]]:
        """Test and run of every open run that nobody has asked to cancel."""
        return [(row.test_id, row.id) for row in await self.session.execute(_OPEN_RUNS, key.values)]

    async def put_off(self, key: Key, seconds: float) -> None:
        """Look at a held evaluation again in so many seconds."""
        await self.session.execute(_PUT_OFF, key.values | {"seconds": float(seconds)})

    async def let_go(self, key: Key) -> None:
        """Nothing is left to be done."""
        await self.session.execute(_LET_GO, key.values)

    async def ends(self, account_id: UUID, run_ids: Sequence[UUID]) -> list[RunEnded]:
        """Those of these runs that carried out a case and have ended."""
        rows = await self.session.execute(_ENDS, {"account_id": account_id, "run_ids": list(run_ids)})
        return [
            RunEnded(
                evaluation_id=row.evaluation_id,
                result_id=row.result_id,
                run_id=row.run_id,
                state=row.state,
                outcome=row.outcome,
                result=row.result,
                error=row.error,
                cost_usd=row.cost,
                agent_ms=row.agent_ms,
                reasoning=row.reasoning,
            )
            for row in rows
        ]


async def due_evaluations(session: Session, limit: int) -> list[Key]:
    """Up to `limit` evaluations, whosever they are, that want a look."""
    rows = await session.execute(_DUE, {"limit": limit})
    return [Key(row.account_id, row.evaluation_id) for row in rows]


async def due_suites(session: Session, limit: int) -> list[tuple[UUID, UUID]]:
    """Up to `limit` suites, whosever they are, that are due: account and suite."""
    rows = await session.execute(_DUE_SUITES, {"limit": limit})
    return [(row.account_id, row.id) for row in rows]
