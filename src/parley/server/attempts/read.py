"""Reading attempts."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from parley.server.attempts.repository import AttemptRepository, PlanRepository
from parley.server.attempts.schemas import AttemptDetail, AttemptLine
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.errors import NotFound
from parley.server.evaluations.read import require
from parley.server.kit.paging import Paging
from parley.server.kit.schemas import PageInfo


async def listed(
    session: Session,
    scope: AccountScope,
    evaluation_id: UUID,
    paging: Paging,
    *,
    status: str | None = None,
    case_id: str | None = None,
    repetition: int | None = None,
) -> tuple[list[AttemptLine], PageInfo]:
    """One page of an evaluation's attempts, in the order of the cases. Raises `NotFound`."""
    await require(session, scope, evaluation_id)
    given = {"status": status, "case_id": case_id, "repetition": repetition}
    filters = {name: value for name, value in given.items() if value is not None}
    statement = AttemptRepository(session, scope).of(evaluation_id, **filters)
    rows = (await session.execute(statement.offset(paging.offset).limit(paging.limit + 1))).all()
    page = PageInfo(
        limit=paging.limit, offset=paging.offset, has_more=len(rows) > paging.limit, next_cursor=None
    )
    return [AttemptLine(**_line(row)) for row in rows[: paging.limit]], page


async def shown(
    session: Session, scope: AccountScope, evaluation_id: UUID, attempt_id: UUID
) -> AttemptDetail:
    """One attempt with its record. Raises `NotFound`."""
    row = (await session.execute(AttemptRepository(session, scope).one(evaluation_id, attempt_id))).first()
    plan = await PlanRepository(session, scope).of(evaluation_id)
    if row is None or plan is None:
        raise NotFound
    return AttemptDetail(**_line(row), suite_revision=plan.revision, record=row.Attempt.record)


def _line(row: Any) -> dict[str, Any]:
    names = AttemptLine.model_fields.keys() - {"index", "name"}
    return {name: getattr(row.Attempt, name) for name in names} | {"index": row.index, "name": row.name}
