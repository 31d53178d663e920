"""Datasets: every change makes a version, and runs pin one."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import func

from parley.server.custom_evaluations.answers import DatasetLine, DatasetReply
from parley.server.custom_evaluations.cases import content_of
from parley.server.custom_evaluations.lenient import ignored
from parley.server.custom_evaluations.repository import DatasetRepository, VersionRepository
from parley.server.custom_evaluations.schemas import DatasetIn
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Dataset, DatasetVersion
from parley.server.errors import NotFound
from parley.server.kit.ids import new_id
from parley.server.kit.paging import Paging
from parley.server.kit.schemas import PageInfo


async def create(session: Session, scope: AccountScope, body: DatasetIn) -> DatasetReply:
    """A new dataset, version 1."""
    content = content_of(body, (), _an_id)
    row = Dataset(
        account_id=scope.account_id, id=new_id(), name=body.name, case_count=len(content["questions"])
    )
    await DatasetRepository(session, scope).add(row)
    await session.refresh(row)
    await _keep_version(session, scope, row, content)
    return _reply(row, content, ignored(body))


async def replace(session: Session, scope: AccountScope, dataset_id: UUID, body: DatasetIn) -> DatasetReply:
    """The dataset with other content: a new version, unless nothing differs. Raises `NotFound`."""
    row = await DatasetRepository(session, scope).live(dataset_id, lock=True)
    if row is None:
        raise NotFound
    before = (await VersionRepository(session, scope).of(row)).content
    content = content_of(body, before["questions"], _an_id)
    if content != before or body.name != row.name:
        row.version += 1
        row.name, row.case_count, row.updated_at = body.name, len(content["questions"]), func.now()
        await session.flush()
        await session.refresh(row)
        await _keep_version(session, scope, row, content)
    return _reply(row, content, ignored(body))


async def show(session: Session, scope: AccountScope, dataset_id: UUID) -> DatasetReply:
    """The dataset in its newest version. Raises `NotFound`."""
    row, content = await newest(session, scope, dataset_id)
    return _reply(row, content, [])


async def newest(session: Session, scope: AccountScope, dataset_id: UUID) -> tuple[Dataset, dict[str, Any]]:
    """The dataset and the content of its newest version. Raises `NotFound`."""
    row = await DatasetRepository(session, scope).live(dataset_id)
    if row is None:
        raise NotFound
    return row, (await VersionRepository(session, scope).of(row)).content


async def listed(session: Session, scope: AccountScope, paging: Paging) -> tuple[list[DatasetLine], PageInfo]:
    """One page, newest first."""
    rows, page = await DatasetRepository(session, scope).listed(paging)
    return [DatasetLine.model_validate(row) for row in rows], page


async def delete(session: Session, scope: AccountScope, dataset_id: UUID) -> None:
    """Take the dataset away; its runs stay. Raises `NotFound`."""
    row = await DatasetRepository(session, scope).live(dataset_id, lock=True)
    if row is None:
        raise NotFound
    row.deleted_at = func.now()
    await session.flush()


async def _keep_version(session: Session, scope: AccountScope, row: Dataset, content: dict[str, Any]) -> None:
    version = DatasetVersion(
        account_id=scope.account_id,
        id=new_id(),
        dataset_id=row.id,
        version=row.version,
        content=content,
    )
    await VersionRepository(session, scope).add(version)


def _reply(row: Dataset, content: dict[str, Any], ignored_fields: list[str]) -> DatasetReply:
    line = DatasetLine.model_validate(row).model_dump(by_alias=True)
    questions = [
        {"id": question["id"], "_id": question["id"], "index": index, **question}
        for index, question in enumerate(content["questions"])
    ]
    return DatasetReply(**line | content | {"questions": questions, "ignoredFields": ignored_fields})


def _an_id() -> str:
    return str(new_id())
