"""`/api/v1/evaluations/{id}/attempts`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from fastapi import Query

from parley.engine.script.shapes import MAX_REPETITIONS
from parley.engine.script.status import Status
from parley.server.accounts.authenticator import Caller
from parley.server.accounts.callers import requires
from parley.server.attempts import read
from parley.server.attempts.schemas import AttemptDetail, AttemptLine
from parley.server.db.dependencies import SessionDep
from parley.server.errors import NotFound, PublicKeyRefused, ScopeMissing
from parley.server.evaluations.filters import text_filter
from parley.server.kit.docs import answers_with
from parley.server.kit.requests import PagingDep, PathId, room_router
from parley.server.kit.schemas import Listing, Reply

router = room_router("/evaluations/{evaluation_id}/attempts", "evaluations")

Reader: TypeAlias = Annotated[Caller, requires("tests:read")]

_REFUSED = (PublicKeyRefused, ScopeMissing, NotFound)


@router.get("", summary="List attempts", responses=answers_with(*_REFUSED))
async def list_attempts(
    evaluation_id: PathId,
    caller: Reader,
    session: SessionDep,
    paging: PagingDep,
    status: Annotated[Status | None, Query(description="Only attempts of this status.")] = None,
    case: Annotated[str | None, Query(max_length=256, description="Only attempts at this case.")] = None,
    repetition: Annotated[int | None, Query(ge=1, le=MAX_REPETITIONS)] = None,
) -> Listing[AttemptLine]:
    """Attempts at scripted cases in the order of the cases, by `limit` and `offset`. Those of cases that
    have not begun are not there yet."""
    wanted = text_filter("case", case)
    rows, page = await read.listed(
        session, caller.scope, evaluation_id, paging, status=status, case_id=wanted, repetition=repetition
    )
    return Listing(data=rows, page=page)


@router.get("/{attempt_id}", summary="Read an attempt", responses=answers_with(*_REFUSED))
async def read_attempt(
    evaluation_id: PathId, attempt_id: PathId, caller: Reader, session: SessionDep
) -> Reply[AttemptDetail]:
    """One attempt with its whole record: steps, observations, evidence, verdicts, times, errors."""
    return Reply(data=await read.shown(session, caller.scope, evaluation_id, attempt_id))
