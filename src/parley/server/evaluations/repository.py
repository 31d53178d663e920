"""Rows of evaluations, their cases and results, gates and pins, within one account."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Select, and_, func, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import defer

from parley.engine.gate.baseline import NEVER_A_BASELINE
from parley.server.db.repository import Repository
from parley.server.db.tables import CaseResult, Evaluation, EvaluationCase, EvaluationPin, GateRecord
from parley.server.db.tables.case_results import OPEN_STATUSES
from parley.server.kit.paging import Paging
from parley.server.kit.schemas import PageInfo

_ROWS_PER_INSERT = 1_000


class EvaluationRepository(Repository[Evaluation]):
    """The evaluations in scope."""

    table = Evaluation

    async def held(self, evaluation_id: UUID) -> Evaluation | None:
        """The evaluation as it is now, held to the end of the transaction."""
        statement = self.rows().where(Evaluation.id == evaluation_id).with_for_update()
        return await self.session.scalar(statement.execution_options(populate_existing=True))

    async def listed(
        self, filters: Mapping[str, Any], paging: Paging
    ) -> tuple[Sequence[Evaluation], PageInfo]:
        """One page, newest first, without the large columns. `filters` are columns and their values; of
        `pinned`, whether there is a pin."""
        statement = self.rows().options(
            defer(Evaluation.grading, raiseload=True), defer(Evaluation.options, raiseload=True)
        )
        for name, value in filters.items():
            held = _PINNED if name == "pinned" else getattr(Evaluation, name)
            statement = statement.where(held == value)
        return await self.page(statement, paging)

    def line_before(self, now: Evaluation) -> Select[Evaluation]:
        """The completed evaluations of the same line that completed before `now`, newest first.

        Without those that are never a baseline.
        """
        before = tuple_(Evaluation.completed_at, Evaluation.id) < tuple_(now.completed_at, now.id)
        return (
            self.rows()
            .where(
                _same_subject(now),
                Evaluation.grading_hash == now.grading_hash,
                Evaluation.split.is_not_distinct_from(now.split),
                Evaluation.state == "completed",
                Evaluation.rated_count > 0,
                Evaluation.run_source.is_distinct_from(NEVER_A_BASELINE),
                Evaluation.regrade_of.is_(None),
                before,
            )
            .order_by(Evaluation.completed_at.desc(), Evaluation.id.desc())
        )

    async def newest_before(self, now: Evaluation, limit: int) -> Sequence[Evaluation]:
        """Up to `limit` evaluations that could be the baseline of `now`, newest first."""
        return (await self.session.scalars(self.line_before(now).limit(limit))).all()

    async def newest_completed(self, dataset_id: UUID | None, suite_id: UUID | None) -> Evaluation | None:
        """The newest completed evaluation of a dataset or suite that is not of live traffic or regraded."""
        statement = self.rows().where(
            Evaluation.dataset_id == dataset_id if dataset_id else Evaluation.suite_id == suite_id,
            Evaluation.state == "completed",
            Evaluation.run_source.is_distinct_from(NEVER_A_BASELINE),
            Evaluation.regrade_of.is_(None),
        )
        newest = statement.order_by(Evaluation.completed_at.desc(), Evaluation.id.desc()).limit(1)
        return cast("Evaluation | None", await self.session.scalar(newest))

    async def expired(self, limit: int) -> Sequence[Evaluation]:
        """Open evaluations past their time, held; those that somebody else holds are left out."""
        statement = (
            self.rows()
            .where(Evaluation.state.in_(("in_progress", "scoring")), Evaluation.expires_at <= func.now())
            .order_by(Evaluation.expires_at)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        return (await self.session.scalars(statement)).all()


class CaseRepository(Repository[EvaluationCase]):
    """The frozen cases in scope."""

    table = EvaluationCase

    async def add_all(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert many cases."""
        for at in range(0, len(rows), _ROWS_PER_INSERT):
            await self.session.execute(insert(EvaluationCase), list(rows[at : at + _ROWS_PER_INSERT]))

    async def of(self, evaluation_id: UUID) -> Sequence[EvaluationCase]:
        """All cases of an evaluation in their order."""
        return (await self.session.scalars(self._of(evaluation_id))).all()

    async def outlines(self, evaluation_ids: Sequence[UUID]) -> Sequence[EvaluationCase]:
        """The cases of several evaluations without their content."""
        statement = self.rows().where(EvaluationCase.evaluation_id.in_(evaluation_ids))
        statement = statement.options(defer(EvaluationCase.content, raiseload=True))
        return (await self.session.scalars(statement.order_by(EvaluationCase.index, EvaluationCase.id))).all()

    async def kinds(self, evaluation_id: UUID, case_ids: Collection[str]) -> Mapping[str, str]:
        """The kind of each of these cases, by its id; those that are none are left out."""
        statement = self.narrow(select(EvaluationCase.case_id, EvaluationCase.kind)).where(
            EvaluationCase.evaluation_id == evaluation_id, EvaluationCase.case_id.in_(case_ids)
        )
        rows = await self.session.execute(statement)
        return {row.case_id: row.kind for row in rows}

    def _of(self, evaluation_id: UUID) -> Select[EvaluationCase]:
        statement = self.rows().where(EvaluationCase.evaluation_id == evaluation_id)
        return statement.order_by(EvaluationCase.index, EvaluationCase.id)


class ResultRepository(Repository[CaseResult]):
    """The results in scope."""

    table = CaseResult

    async def add_new(self, rows: Sequence[Mapping[str, Any]]) -> set[UUID]:
        """Insert those whose key, and whose case and repetition, are free; the ids that went in."""
        if not rows:
            return set()
        statement = insert(CaseResult).values(list(rows)).on_conflict_do_nothing().returning(CaseResult.id)
        return set((await self.session.scalars(statement)).all())

    async def by_keys(self, evaluation_id: UUID, keys: Sequence[str]) -> Mapping[str, CaseResult]:
        """The results with these idempotency keys."""
        statement = self.rows().where(
            CaseResult.evaluation_id == evaluation_id, CaseResult.idempotency_key.in_(keys)
        )
        found = await self.session.scalars(statement)
        return {row.idempotency_key: row for row in found if row.idempotency_key is not None}

    async def places(self, evaluation_id: UUID) -> set[tuple[str, int]]:
        """Case and repetition of every result there is."""
        statement = self.narrow(select(CaseResult.case_id, CaseResult.repetition))
        rows = await self.session.execute(statement.where(CaseResult.evaluation_id == evaluation_id))
        return {(row.case_id, row.repetition) for row in rows}

    async def outlines(self, evaluation_ids: Sequence[UUID]) -> Sequence[Any]:
        """What statistics need of the results of several evaluations."""
        columns = select(
            CaseResult.evaluation_id,
            CaseResult.case_id,
            CaseResult.repetition,
            CaseResult.status,
            CaseResult.rating,
            CaseResult.passed,
            CaseResult.duration_ms,
            CaseResult.cost,
        )
        statement = self.narrow(columns).where(CaseResult.evaluation_id.in_(evaluation_ids))
        return (await self.session.execute(statement.order_by(CaseResult.repetition, CaseResult.id))).all()

    async def count_open(self, evaluation_id: UUID) -> int:
        """Results that are still to be scored."""
        statement = self.narrow(select(func.count()).select_from(CaseResult)).where(
            CaseResult.evaluation_id == evaluation_id, CaseResult.status.in_(OPEN_STATUSES)
        )
        return await self.session.scalar(statement) or 0

    async def count_open_among(self, evaluation_id: UUID, result_ids: Collection[UUID]) -> int:
        """Those of these results that are still to be scored."""
        statement = self.narrow(select(func.count()).select_from(CaseResult)).where(
            CaseResult.evaluation_id == evaluation_id,
            CaseResult.id.in_(result_ids),
            CaseResult.status.in_(OPEN_STATUSES),
        )
        return await self.session.scalar(statement) or 0

    async def end(
        self, result_id: UUID, values: Mapping[str, Any], lease_token: UUID | None
    ) -> CaseResult | None:
        """End a result that is open, and held under `lease_token` if one is given; None if it is not."""
        held = CaseResult.status.in_(OPEN_STATUSES) if lease_token is None else CaseResult.status == "scoring"
        statement = update(CaseResult).where(CaseResult.id == result_id, held)
        if lease_token is not None:
            statement = statement.where(CaseResult.lease_token == lease_token)
        ended = self.narrow(statement.values(_ended(values)).returning(CaseResult))
        return cast("CaseResult | None", await self.session.scalar(ended))

    async def end_open(self, evaluation_id: UUID, values: Mapping[str, Any]) -> None:
        """End every result of an evaluation that is open."""
        statement = update(CaseResult).where(
            CaseResult.evaluation_id == evaluation_id, CaseResult.status.in_(OPEN_STATUSES)
        )
        await self.session.execute(self.narrow(statement.values(_ended(values))))

    def of(self, evaluation_id: UUID) -> Select[Any]:
        """Results of an evaluation with their cases, in the order of the cases."""
        statement = self.narrow(
            select(CaseResult, EvaluationCase.index, EvaluationCase.name).join(EvaluationCase, _OF_CASE)
        ).where(CaseResult.evaluation_id == evaluation_id)
        return cast(
            "Select[Any]",
            statement.order_by(EvaluationCase.index, EvaluationCase.case_id, CaseResult.repetition),
        )

    def in_full(self, evaluation_id: UUID, result_id: UUID) -> Select[Any]:
        """One of them, with what its case asked."""
        whole = self.of(evaluation_id).add_columns(EvaluationCase.content)
        return cast("Select[Any]", whole.where(CaseResult.id == result_id))

    async def linked(self, evaluation_id: UUID) -> Sequence[tuple[CaseResult, CaseResult]]:
        """Results of a regraded evaluation, each with the one it was made from."""
        statement = self.rows().where(
            CaseResult.evaluation_id == evaluation_id, CaseResult.regraded_from.is_not(None)
        )
        now = (await self.session.scalars(statement)).all()
        former = self.rows().where(CaseResult.id.in_([row.regraded_from for row in now]))
        before = {row.id: row for row in await self.session.scalars(former)}
        return [(row, before[row.regraded_from]) for row in now if row.regraded_from in before]


class GateRepository(Repository[GateRecord]):
    """The recorded gates in scope."""

    table = GateRecord

    async def keep(self, values: Mapping[str, Any]) -> UUID | None:
        """Record an answer; None if this evaluation, verdict and caller have one."""
        statement = insert(GateRecord).values(values).on_conflict_do_nothing().returning(GateRecord.id)
        return await self.session.scalar(statement)

    async def found(self, evaluation_id: UUID, verdict: str, caller: str) -> GateRecord | None:
        """The record of this evaluation, verdict and caller."""
        statement = self.rows().where(
            GateRecord.evaluation_id == evaluation_id,
            GateRecord.verdict == verdict,
            GateRecord.caller == caller,
        )
        return cast("GateRecord | None", await self.session.scalar(statement))

    async def count_red(self, evaluation_id: UUID) -> int:
        """Recorded failures of an evaluation."""
        statement = self.narrow(select(func.count()).select_from(GateRecord)).where(
            GateRecord.evaluation_id == evaluation_id, GateRecord.verdict == "failed"
        )
        return await self.session.scalar(statement) or 0

    async def newest_of(self, evaluation_ids: Sequence[UUID], before: Any) -> Mapping[UUID, GateRecord]:
        """The newest record of each of these evaluations that was made before a moment."""
        statement = self.rows().where(
            GateRecord.evaluation_id.in_(evaluation_ids), GateRecord.created_at < before
        )
        rows = await self.session.scalars(statement.order_by(GateRecord.created_at, GateRecord.id))
        return {row.evaluation_id: row for row in rows}

    async def listed(
        self, filters: Mapping[str, Any], paging: Paging
    ) -> tuple[Sequence[GateRecord], PageInfo]:
        """One page, newest first."""
        statement = self.rows()
        for name, value in filters.items():
            statement = statement.where(getattr(GateRecord, name) == value)
        return await self.page(statement, paging)

    async def newest_of_subject(self, dataset_id: UUID | None, suite_id: UUID | None) -> GateRecord | None:
        """The newest record of a dataset or suite."""
        statement = self.rows().where(
            GateRecord.dataset_id == dataset_id if dataset_id else GateRecord.suite_id == suite_id
        )
        return cast(
            "GateRecord | None", await self.session.scalar(statement.order_by(GateRecord.id.desc()).limit(1))
        )


class PinRepository(Repository[EvaluationPin]):
    """The pinned baselines in scope."""

    table = EvaluationPin

    async def of_line(self, evaluation: Evaluation) -> EvaluationPin | None:
        """The pin of this evaluation's line."""
        statement = self.rows().where(
            EvaluationPin.dataset_id.is_not_distinct_from(evaluation.dataset_id),
            EvaluationPin.suite_id.is_not_distinct_from(evaluation.suite_id),
            EvaluationPin.grading_hash == evaluation.grading_hash,
            EvaluationPin.split.is_not_distinct_from(evaluation.split),
        )
        return cast("EvaluationPin | None", await self.session.scalar(statement))

    async def put(self, values: Mapping[str, Any]) -> None:
        """Pin an evaluation in its line, in the place of another."""
        statement = insert(EvaluationPin).values(values)
        await self.session.execute(
            statement.on_conflict_do_update(
                constraint="uq_evaluation_pins_line",
                set_={"evaluation_id": statement.excluded.evaluation_id, "created_at": func.now()},
            )
        )

    async def pinned_among(self, evaluation_ids: Sequence[UUID]) -> set[UUID]:
        """Those of these evaluations that are pinned."""
        statement = self.narrow(select(EvaluationPin.evaluation_id))
        rows = await self.session.scalars(statement.where(EvaluationPin.evaluation_id.in_(evaluation_ids)))
        return set(rows.all())


_PINNED = (
    select(EvaluationPin.id)
    .where(
        EvaluationPin.account_id == Evaluation.account_id,
        EvaluationPin.evaluation_id == Evaluation.id,
    )
    .exists()
)
_OF_CASE = and_(
    EvaluationCase.account_id == CaseResult.account_id,
    EvaluationCase.evaluation_id == CaseResult.evaluation_id,
    EvaluationCase.case_id == CaseResult.case_id,
)


def _same_subject(now: Evaluation) -> Any:
    return Evaluation.dataset_id == now.dataset_id if now.dataset_id else Evaluation.suite_id == now.suite_id


def _ended(values: Mapping[str, Any]) -> dict[str, Any]:
    return {**values, "lease_token": None, "lease_until": None, "scored_at": func.now()}
