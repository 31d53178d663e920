"""`/api/v1/evaluations`."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias
from uuid import UUID

from fastapi import Query, Request, Response

from parley.engine.gate.parameters import FULL_COVERAGE
from parley.engine.stats.results import Status
from parley.server.accounts.authenticator import Caller
from parley.server.accounts.callers import requires
from parley.server.db.dependencies import DatabaseDep, SessionDep
from parley.server.errors import (
    EvaluationNotCompleted,
    EvaluationOpen,
    IdempotencyConflict,
    InvalidRequest,
    NotABaseline,
    NotFound,
    NothingToRegrade,
    PublicKeyRefused,
    ScopeMissing,
)
from parley.server.evaluations import compare, finish, pins, read, regrade
from parley.server.evaluations.figures import ComparisonReply
from parley.server.evaluations.filters import EvaluationFilters, id_filter, text_filter
from parley.server.evaluations.gate_call import GateCall, called, documented, given_in
from parley.server.evaluations.regrade import Graders
from parley.server.evaluations.schemas import (
    EvaluationDetail,
    EvaluationLine,
    Flip,
    GateReply,
    Regrade,
    ResultDetail,
    ResultLine,
)
from parley.server.idempotency.service import IdempotencyKeyDep
from parley.server.kit.docs import answers_with
from parley.server.kit.provide import provided
from parley.server.kit.requests import PagingDep, PathId, room_router
from parley.server.kit.schemas import Listing, Reply

router = room_router("/evaluations", "evaluations")

Reader: TypeAlias = Annotated[Caller, requires("tests:read")]
Writer: TypeAlias = Annotated[Caller, requires("evaluations:write")]

_REFUSED = (PublicKeyRefused, ScopeMissing, NotFound)


@router.get("", summary="List evaluations", responses=answers_with(PublicKeyRefused, ScopeMissing))
async def list_evaluations(
    caller: Reader, session: SessionDep, paging: PagingDep, filters: EvaluationFilters
) -> Listing[EvaluationLine]:
    """The account's evaluations, newest first. Statistics stand beside those that are completed."""
    rows, page = await read.listed(session, caller.scope, filters, paging)
    return Listing(data=rows, page=page)


@router.get("/{evaluation_id}", summary="Read an evaluation", responses=answers_with(*_REFUSED))
async def read_evaluation(
    evaluation_id: PathId, caller: Reader, session: SessionDep
) -> Reply[EvaluationDetail]:
    """An evaluation with its grader and its statistics as of now."""
    return Reply(data=await read.shown(session, caller.scope, evaluation_id))


@router.get("/{evaluation_id}/results", summary="List case results", responses=answers_with(*_REFUSED))
async def list_results(
    evaluation_id: PathId,
    caller: Reader,
    session: SessionDep,
    paging: PagingDep,
    status: Annotated[Status | None, Query(description="Only results of this status.")] = None,
    case: Annotated[str | None, Query(max_length=256, description="Only results of this case.")] = None,
) -> Listing[ResultLine]:
    """Case results in the order of the cases, by `limit` and `offset`."""
    wanted = text_filter("case", case)
    rows, page = await read.results(
        session, caller.scope, evaluation_id, paging, status=status, case_id=wanted
    )
    return Listing(data=rows, page=page)


@router.get(
    "/{evaluation_id}/results/{result_id}", summary="Read a case result", responses=answers_with(*_REFUSED)
)
async def read_result(
    evaluation_id: PathId, result_id: PathId, caller: Reader, session: SessionDep
) -> Reply[ResultDetail]:
    """One case result with what was judged."""
    return Reply(data=await read.result(session, caller.scope, evaluation_id, result_id))


@router.post(
    "/{evaluation_id}/cancel",
    status_code=202,
    summary="Cancel an evaluation",
    responses={
        200: {"model": Reply[EvaluationDetail], "description": "It had ended before and is unchanged."},
        **answers_with(*_REFUSED),
    },
)
async def cancel_evaluation(
    evaluation_id: PathId, caller: Writer, session: SessionDep, response: Response
) -> Reply[EvaluationDetail]:
    """Ends an open evaluation; results that are not scored yet are skipped."""
    _, closed = await finish.close(
        session, caller.scope, evaluation_id, "cancelled", "cancelled", "It was cancelled."
    )
    if not closed:
        response.status_code = 200
    message = "The evaluation is cancelled." if closed else "It had ended before; nothing is changed."
    return Reply(message=message, data=await read.shown(session, caller.scope, evaluation_id))


@router.get(
    "/{evaluation_id}/compare",
    summary="Compare with a baseline",
    responses=answers_with(InvalidRequest, EvaluationOpen, *_REFUSED),
)
async def compare_evaluations(
    evaluation_id: PathId,
    caller: Reader,
    session: SessionDep,
    baseline: Annotated[
        str | None, Query(max_length=60, description="An evaluation's id; by default the fixed baseline.")
    ] = None,
) -> Reply[ComparisonReply]:
    """What changed since the baseline, case by case. What cannot be compared says what differs."""
    wanted = id_filter("baseline", baseline)
    return Reply(data=await compare.compared(session, caller.scope, evaluation_id, wanted))


@router.post(
    "/{evaluation_id}/regrade",
    status_code=202,
    summary="Judge stored transcripts again",
    responses=answers_with(InvalidRequest, NothingToRegrade, *_REFUSED),
)
async def regrade_evaluation(
    evaluation_id: PathId,
    caller: Writer,
    session: SessionDep,
    graders: Annotated[Graders, provided(Graders)],
    body: Regrade,
) -> Reply[EvaluationDetail]:
    """Makes a new evaluation over the same transcripts with another grader. The old one stays as it is."""
    row = await regrade.begin_regrade(session, caller.scope, graders, evaluation_id, body)
    data = await read.shown(session, caller.scope, row.id)
    return Reply(message="The transcripts are judged again.", data=data)


@router.get("/{evaluation_id}/flips", summary="List turned verdicts", responses=answers_with(*_REFUSED))
async def list_flips(evaluation_id: PathId, caller: Reader, session: SessionDep) -> Reply[list[Flip]]:
    """Of a regraded evaluation: verdicts that differ from those before."""
    return Reply(data=await regrade.flips(session, caller.scope, evaluation_id))


@router.post(
    "/{evaluation_id}/pin", summary="Pin as baseline", responses=answers_with(NotABaseline, *_REFUSED)
)
async def pin_evaluation(
    evaluation_id: PathId, caller: Writer, session: SessionDep
) -> Reply[EvaluationDetail]:
    """Makes it the pinned baseline of its dataset or suite, grading identity and split."""
    await pins.pin(session, caller.scope, evaluation_id)
    data = await read.shown(session, caller.scope, evaluation_id)
    return Reply(message="This is the pinned baseline now.", data=data)


@router.delete(
    "/{evaluation_id}/pin", status_code=204, summary="Take the pin away", responses=answers_with(*_REFUSED)
)
async def unpin_evaluation(evaluation_id: PathId, caller: Writer, session: SessionDep) -> Response:
    """Takes the pin away, if it is on this evaluation."""
    await pins.unpin(session, caller.scope, evaluation_id)
    return Response(status_code=204)


_GATE: dict[str, Any] = {
    "responses": answers_with(InvalidRequest, EvaluationOpen, EvaluationNotCompleted, *_REFUSED),
    "openapi_extra": documented(),
}


@router.get("/{evaluation_id}/gate", summary="Ask the gate", **_GATE)
async def ask_gate(
    evaluation_id: PathId, caller: Reader, database: DatabaseDep, request: Request
) -> Reply[GateReply]:
    """Whether the evaluation passes the checks asked for, from the ratings as they are stored. 200 either
    way. With `record=true` the answer is kept."""
    return Reply(data=await called(database, await _call(evaluation_id, caller, request)))


@router.post(
    "/{evaluation_id}/gate",
    summary="Ask the gate and record the answer",
    openapi_extra=documented(),
    responses=_GATE["responses"] | answers_with(IdempotencyConflict),
)
async def record_gate(
    evaluation_id: PathId, caller: Writer, database: DatabaseDep, request: Request, key: IdempotencyKeyDep
) -> Reply[GateReply]:
    """The same, kept once for each verdict and caller. A first failure alerts the account's channels."""
    return Reply(data=await called(database, await _call(evaluation_id, caller, request, key)))


async def _call(evaluation_id: UUID, caller: Caller, request: Request, key: str | None = None) -> GateCall:
    return GateCall(
        scope=caller.scope,
        evaluation_id=evaluation_id,
        given=await given_in(request),
        default_coverage=FULL_COVERAGE,
        may_record="evaluations:write" in caller.scopes,
        posted=request.method == "POST",
        key=key,
        route=request.url.path,
    )
