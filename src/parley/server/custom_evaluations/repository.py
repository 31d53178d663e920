"""Rows of datasets and evaluation settings within one account, and what a scorer reads of a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

from sqlalchemy import and_, select

from parley.server.db.repository import Repository
from parley.server.db.tables import (
    CaseResult,
    Dataset,
    DatasetVersion,
    Evaluation,
    EvaluationCase,
    EvaluationSettings,
)
from parley.server.kit.paging import Paging
from parley.server.kit.schemas import PageInfo


class DatasetRepository(Repository[Dataset]):
    """The datasets in scope that were not deleted."""

    table = Dataset

    async def live(self, dataset_id: UUID, *, lock: bool = False) -> Dataset | None:
        """The dataset; None if it was deleted. `lock` holds it to the end of the transaction."""
        statement = self.rows().where(Dataset.id == dataset_id, Dataset.deleted_at.is_(None))
        if lock:
            statement = statement.with_for_update().execution_options(populate_existing=True)
        return cast("Dataset | None", await self.session.scalar(statement))

    async def listed(self, paging: Paging) -> tuple[Sequence[Dataset], PageInfo]:
        """One page, newest first."""
        return await self.page(self.rows().where(Dataset.deleted_at.is_(None)), paging)


class VersionRepository(Repository[DatasetVersion]):
    """The versions of datasets in scope."""

    table = DatasetVersion

    async def of(self, dataset: Dataset) -> DatasetVersion:
        """The newest version of a dataset."""
        statement = self.rows().where(
            DatasetVersion.dataset_id == dataset.id, DatasetVersion.version == dataset.version
        )
        return (await self.session.scalars(statement)).one()


class SettingsRepository(Repository[EvaluationSettings]):
    """The evaluation settings in scope."""

    table = EvaluationSettings

    async def listed(self, paging: Paging) -> tuple[Sequence[EvaluationSettings], PageInfo]:
        """One page, newest first."""
        return await self.page(self.rows(), paging)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a scorer needs to know of one result."""

    transcript: dict[str, Any]
    duration_ms: int | None
    content: dict[str, Any]
    grading: dict[str, Any]
    pass_rating: Decimal | None


class CaseIndexRepository(Repository[EvaluationCase]):
    """Reads the frozen cases of runs in scope."""

    table = EvaluationCase

    async def by_index(self, evaluation_id: UUID) -> dict[int, str]:
        """The case at each index."""
        statement = self.narrow(select(EvaluationCase.index.label("index_in_set"), EvaluationCase.case_id))
        rows = await self.session.execute(statement.where(EvaluationCase.evaluation_id == evaluation_id))
        return {row.index_in_set: row.case_id for row in rows}


class WorkRepository(Repository[CaseResult]):
    """Reads the results in scope for those who score them."""

    table = CaseResult

    async def work(self, result_id: UUID) -> Work | None:
        """The result with its case and its run's grader; None if it is gone."""
        columns = select(
            CaseResult.transcript,
            CaseResult.duration_ms,
            EvaluationCase.content,
            Evaluation.grading,
            Evaluation.pass_rating,
        )
        statement = self.narrow(
            columns.join(EvaluationCase, _OF_CASE).join(Evaluation, _OF_EVALUATION)
        ).where(CaseResult.id == result_id)
        row = (await self.session.execute(statement)).first()
        if row is None:
            return None
        return Work(
            transcript=row.transcript or {},
            duration_ms=row.duration_ms,
            content=row.content,
            grading=row.grading,
            pass_rating=row.pass_rating,
        )


_OF_CASE = and_(
    EvaluationCase.account_id == CaseResult.account_id,
    EvaluationCase.evaluation_id == CaseResult.evaluation_id,
    EvaluationCase.case_id == CaseResult.case_id,
)
_OF_EVALUATION = and_(
    Evaluation.account_id == CaseResult.account_id, Evaluation.id == CaseResult.evaluation_id
)
