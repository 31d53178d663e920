"""Reading evaluations and their results."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from parley.engine.stats.results import statistics_of
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import CaseResult, Evaluation
from parley.server.errors import NotFound
from parley.server.evaluations import figures
from parley.server.evaluations.figures import StatisticsReply
from parley.server.evaluations.load import results_of
from parley.server.evaluations.repository import EvaluationRepository, PinRepository, ResultRepository
from parley.server.evaluations.schemas import EvaluationDetail, EvaluationLine, ResultDetail, ResultLine
from parley.server.kit.paging import Paging
from parley.server.kit.schemas import PageInfo

_OF_DETAIL = ("grading", "options")
_OF_RESULT_DETAIL = ("idempotency_key", "batch_id", "transcript", "judgement")


async def require(session: Session, scope: AccountScope, evaluation_id: UUID) -> Evaluation:
    """The evaluation. Raises `NotFound`."""
    found = await EvaluationRepository(session, scope).get(evaluation_id)
    if found is None:
        raise NotFound
    return found


async def shown(session: Session, scope: AccountScope, evaluation_id: UUID) -> EvaluationDetail:
    """An evaluation with its statistics as of now. Raises `NotFound`."""
    row = await require(session, scope, evaluation_id)
    pinned = await PinRepository(session, scope).pinned_among([row.id])
    values = _line(row, bool(pinned)) | {name: getattr(row, name) for name in _OF_DETAIL}
    return EvaluationDetail(**values | {"statistics": await live_statistics(session, scope, row)})


async def live_statistics(session: Session, scope: AccountScope, row: Evaluation) -> StatisticsReply:
    """The statistics of the results there are now."""
    found = await results_of(session, scope, row.id)
    return figures.told(await asyncio.to_thread(statistics_of, found, row.expected))


async def listed(
    session: Session, scope: AccountScope, filters: Mapping[str, Any], paging: Paging
) -> tuple[list[EvaluationLine], PageInfo]:
    """One page, newest first. `filters` are columns of evaluations with their values, and `pinned`."""
    rows, page = await EvaluationRepository(session, scope).listed(filters, paging)
    pinned = await PinRepository(session, scope).pinned_among([row.id for row in rows])
    return [EvaluationLine(**_line(row, row.id in pinned)) for row in rows], page


async def results(
    session: Session,
    scope: AccountScope,
    evaluation_id: UUID,
    paging: Paging,
    *,
    status: str | None = None,
    case_id: str | None = None,
) -> tuple[list[ResultLine], PageInfo]:
    """One page of an evaluation's results, in the order of the cases. Raises `NotFound`."""
    await require(session, scope, evaluation_id)
    statement = ResultRepository(session, scope).of(evaluation_id)
    if status is not None:
        statement = statement.where(CaseResult.status == status)
    if case_id is not None:
        statement = statement.where(CaseResult.case_id == case_id)
    rows = (await session.execute(statement.offset(paging.offset).limit(paging.limit + 1))).all()
    page = PageInfo(
        limit=paging.limit, offset=paging.offset, has_more=len(rows) > paging.limit, next_cursor=None
    )
    return [ResultLine(**_result(row)) for row in rows[: paging.limit]], page


async def result(session: Session, scope: AccountScope, evaluation_id: UUID, result_id: UUID) -> ResultDetail:
    """One result with what was judged. Raises `NotFound`."""
    found = await session.execute(ResultRepository(session, scope).in_full(evaluation_id, result_id))
    row = found.first()
    if row is None:
        raise NotFound
    detail = {name: getattr(row.CaseResult, name) for name in _OF_RESULT_DETAIL}
    return ResultDetail(**_result(row) | detail | {"content": row.content})


async def count_open(
    session: Session, scope: AccountScope, evaluation_id: UUID, result_ids: Collection[UUID]
) -> int:
    """How many of these results are still to be scored."""
    return await ResultRepository(session, scope).count_open_among(evaluation_id, result_ids)


async def scored(
    session: Session, scope: AccountScope, evaluation_id: UUID, result_ids: Sequence[UUID]
) -> list[ResultLine]:
    """Those of these results that have ended, for whoever waits for their scores."""
    statement = (
        ResultRepository(session, scope)
        .of(evaluation_id)
        .where(CaseResult.id.in_(result_ids), CaseResult.scored_at.is_not(None))
    )
    return [ResultLine(**_result(row)) for row in await session.execute(statement)]


def _line(row: Evaluation, pinned: bool) -> dict[str, Any]:
    names = EvaluationLine.model_fields.keys() - {"kind", "pinned"}
    values = {name: getattr(row, name) for name in names}
    return values | {"kind": "custom" if row.dataset_id else "suite", "pinned": pinned}


def _result(row: Any) -> dict[str, Any]:
    names = ResultLine.model_fields.keys() - {"index", "name"}
    values = {name: getattr(row.CaseResult, name) for name in names}
    return values | {"index": row.index, "name": row.name}
