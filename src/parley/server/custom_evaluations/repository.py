"""Rows of datasets and evaluation settings within one account."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import cast
from uuid import UUID

from sqlalchemy import or_, select

from parley.server.db.repository import Repository
from parley.server.db.tables import Dataset, DatasetVersion, EvaluationCase, EvaluationSettings
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


class CaseIndexRepository(Repository[EvaluationCase]):
    """Reads the frozen cases of runs in scope."""

    table = EvaluationCase

    async def by_index(
        self, evaluation_id: UUID, case_ids: Collection[str], indexes: Collection[int]
    ) -> dict[int, str]:
        """The cases of these ids and at these indexes, by their index."""
        statement = self.narrow(select(EvaluationCase.index.label("index_in_set"), EvaluationCase.case_id))
        named = or_(EvaluationCase.case_id.in_(case_ids), EvaluationCase.index.in_(indexes))
        rows = await self.session.execute(
            statement.where(EvaluationCase.evaluation_id == evaluation_id, named)
        )
        return {row.index_in_set: row.case_id for row in rows}
