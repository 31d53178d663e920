"""Rows of attempts and of script plans, within one account."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from sqlalchemy import Select, and_, func, select, text
from sqlalchemy.orm import defer

from parley.server.db.repository import Repository
from parley.server.db.tables import Attempt, EvaluationCase, ScriptPlan

_OF_CASE = and_(
    EvaluationCase.account_id == Attempt.account_id,
    EvaluationCase.evaluation_id == Attempt.evaluation_id,
    EvaluationCase.case_id == Attempt.case_id,
)

# What has not begun ends at once; what runs is told, and ends by its worker.
_CANCEL = text("""
UPDATE attempts SET cancel_requested_at = now()
 WHERE account_id = :account_id AND evaluation_id = :evaluation_id
   AND state IN ('queued', 'running') AND cancel_requested_at IS NULL
""")

_FREE_SLOTS = text("""
SELECT coalesce(accounts.own_concurrent_runs, plans.concurrent_runs)
       - (SELECT count(*) FROM runs
           WHERE runs.account_id = accounts.id AND runs.state IN ('pending', 'running')
             AND runs.admitted_at IS NOT NULL)
       - (SELECT count(*) FROM attempts
           WHERE attempts.account_id = accounts.id AND attempts.state IN ('queued', 'running'))
  FROM accounts JOIN plans ON plans.code = accounts.plan
 WHERE accounts.id = :account_id
""")


class AttemptRepository(Repository[Attempt]):
    """The attempts in scope."""

    table = Attempt

    def of(self, evaluation_id: UUID, **filters: Any) -> Select[Any]:
        """Attempts of an evaluation with their cases, in the order of the cases, without their records."""
        statement = self._with_cases().options(defer(Attempt.record, raiseload=True))
        statement = statement.where(Attempt.evaluation_id == evaluation_id)
        for name, value in filters.items():
            statement = statement.where(getattr(Attempt, name) == value)
        return statement.order_by(EvaluationCase.index, EvaluationCase.case_id, Attempt.repetition)

    def one(self, evaluation_id: UUID, attempt_id: UUID) -> Select[Any]:
        """One attempt with its case and record."""
        return self._with_cases().where(Attempt.evaluation_id == evaluation_id, Attempt.id == attempt_id)

    async def free_slots(self, account_id: UUID) -> int:
        """How many more attempts and runs the account's plan lets be under way. Hold the account's row."""
        free = await self.session.scalar(_FREE_SLOTS, {"account_id": account_id})
        return cast("int", free or 0)

    async def cancel(self, account_id: UUID, evaluation_id: UUID) -> None:
        """Ask for the end of every open attempt of an evaluation."""
        await self.session.execute(_CANCEL, {"account_id": account_id, "evaluation_id": evaluation_id})

    async def count_open(self, evaluation_id: UUID) -> int:
        """Attempts of an evaluation that are not finished."""
        statement = self.narrow(select(func.count()).select_from(Attempt)).where(
            Attempt.evaluation_id == evaluation_id, Attempt.state != "finished"
        )
        return await self.session.scalar(statement) or 0

    def _with_cases(self) -> Select[Any]:
        joined = select(Attempt, EvaluationCase.index, EvaluationCase.name).join(EvaluationCase, _OF_CASE)
        return cast("Select[Any]", self.narrow(joined))


class PlanRepository(Repository[ScriptPlan]):
    """What scripted cases are played by."""

    table = ScriptPlan

    async def of(self, evaluation_id: UUID) -> ScriptPlan | None:
        """The plan of an evaluation."""
        statement = self.rows().where(ScriptPlan.evaluation_id == evaluation_id)
        return cast("ScriptPlan | None", await self.session.scalar(statement))

    async def target(self, evaluation_id: UUID) -> dict[str, Any] | None:
        """The target of an evaluation, without the suite."""
        statement = self.narrow(select(ScriptPlan.target)).where(ScriptPlan.evaluation_id == evaluation_id)
        return cast("dict[str, Any] | None", await self.session.scalar(statement))
