"""`/api/v1/custom-agent-evaluations/runs`: start, results, finalize, gate."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias
from uuid import UUID

from fastapi import Depends, Query, Request

from parley.engine.stats.results import Status
from parley.server.accounts.authenticator import Caller
from parley.server.custom_evaluations import results, runs
from parley.server.custom_evaluations.answers import (
    BatchReply,
    FinalizeReply,
    OwedReply,
    Page,
    ResultPage,
    RunPage,
    RunReply,
)
from parley.server.custom_evaluations.endpoints import CLOSED, PLANE, JudgesDep, Reader, Writer
from parley.server.custom_evaluations.lenient import ignored
from parley.server.custom_evaluations.result_schemas import BatchIn
from parley.server.custom_evaluations.schemas import FinalizeIn, RunIn
from parley.server.db.dependencies import DatabaseDep, SessionDep
from parley.server.errors import (
    EvaluationClosed,
    EvaluationNotCompleted,
    EvaluationOpen,
    IdempotencyConflict,
    InvalidRequest,
    LlmsNotConfigured,
    NotFound,
)
from parley.server.evaluations import read
from parley.server.evaluations.filters import TextFilter, given, id_filter, text_filter
from parley.server.evaluations.gate_call import GateCall, called, documented, given_in
from parley.server.evaluations.live import LiveStatistics
from parley.server.evaluations.schemas import State
from parley.server.evaluations.shell import in_camel_case, shell_gate
from parley.server.idempotency.service import IdempotencyKeyDep
from parley.server.kit.docs import answers_with
from parley.server.kit.provide import provided
from parley.server.kit.requests import LenientPagingDep, PathId, room_router
from parley.server.queue.pokes import Poke

DEFAULT_WAIT_S = 25
"""How long the answer to a batch waits for its scores (product contract)."""

router = room_router(f"{PLANE}/runs", "custom agent evaluations")

Wait: TypeAlias = Annotated[
    int, Query(ge=0, le=60, description="Seconds to wait for scores; they go on being made without it.")
]
_RUN = answers_with(NotFound, *CLOSED)


async def _filters(
    dataset: Annotated[TextFilter, Query(alias="datasetId")] = None,
    split: TextFilter = None,
    branch: TextFilter = None,
    commit: TextFilter = None,
    pull_request: Annotated[TextFilter, Query(alias="pullRequest")] = None,
    run_source: Annotated[TextFilter, Query(alias="runSource")] = None,
    status: Annotated[State | None, Query(description="Only runs in this state.")] = None,
) -> dict[str, Any]:
    return given(
        dataset_id=id_filter("datasetId", dataset),
        split=text_filter("split", split),
        branch=text_filter("branch", branch),
        commit=text_filter("commit", commit),
        pull_request=text_filter("pullRequest", pull_request),
        run_source=text_filter("runSource", run_source),
        state=status,
    )


@router.post(
    "",
    status_code=201,
    summary="Start a run of a dataset",
    responses=answers_with(InvalidRequest, LlmsNotConfigured, *CLOSED),
)
async def start_run(caller: Writer, session: SessionDep, judges: JudgesDep, body: RunIn) -> RunReply:
    """Freezes the cases of a dataset, or of one of its splits, and waits for results."""
    return await runs.start(session, caller.scope, judges, body)


@router.get("", summary="List runs of datasets", responses=answers_with(InvalidRequest, *CLOSED))
async def list_runs(
    caller: Reader,
    session: SessionDep,
    paging: LenientPagingDep,
    filters: Annotated[dict[str, Any], Depends(_filters)],
) -> RunPage:
    """The account's runs, newest first."""
    rows, page = await runs.listed(session, caller.scope, filters, paging)
    return RunPage(runs=rows, page=Page.model_validate(page))


@router.get("/{run_id}", summary="Get a run of a dataset", responses=_RUN)
async def get_run(run_id: PathId, caller: Reader, session: SessionDep) -> RunReply:
    """A run with its statistics as of now."""
    return await runs.show(session, caller.scope, run_id)


@router.post(
    "/{run_id}/results",
    summary="Post results",
    responses=_RUN | answers_with(InvalidRequest, EvaluationClosed),
)
async def post_results(
    run_id: PathId,
    caller: Writer,
    database: DatabaseDep,
    poke: Annotated[Poke, provided(Poke)],
    live: Annotated[LiveStatistics, provided(LiveStatistics)],
    body: BatchIn,
    wait: Wait = DEFAULT_WAIT_S,
) -> BatchReply:
    """Stores 1 to 100 results at once and waits for their scores. The first write of a key wins, so that a
    batch may be sent again; a result that is not valid is told in `failedValidation` and spoils no other."""
    return await results.post(database, caller.scope, poke, live, run_id, body, wait)


@router.get("/{run_id}/results", summary="List results", responses=_RUN)
async def list_results(
    run_id: PathId,
    caller: Reader,
    session: SessionDep,
    paging: LenientPagingDep,
    status: Annotated[Status | None, Query(description="Only results of this status.")] = None,
) -> ResultPage:
    """Results in the order of the cases, with what was judged left out."""
    await runs.require(session, caller.scope, run_id)
    lines, page = await read.results(session, caller.scope, run_id, paging, status=status)
    told = [in_camel_case(line.model_dump(mode="json", exclude={"run_id"})) for line in lines]
    return ResultPage(results=[{**each, "_id": each["id"]} for each in told], page=Page.model_validate(page))


@router.get("/{run_id}/missing-results", summary="List missing results", responses=_RUN)
async def missing_results(run_id: PathId, caller: Reader, session: SessionDep) -> OwedReply:
    """What a client that goes on after a break still owes."""
    row = await runs.require(session, caller.scope, run_id)
    return OwedReply(run_id=run_id, missing=await runs.owed(session, caller.scope, row))


@router.post(
    "/{run_id}/finalize",
    summary="Finalize a run",
    responses=_RUN | answers_with(InvalidRequest, EvaluationNotCompleted),
)
async def finalize_run(
    run_id: PathId, caller: Writer, database: DatabaseDep, body: FinalizeIn | None = None
) -> FinalizeReply:
    """Says that all is in, and waits for open scores. May be repeated. Send `{}` or no body at all."""
    asked = body or FinalizeIn()
    return await results.finalize(database, caller.scope, run_id, asked.wait, ignored(asked))


_GATE: dict[str, Any] = {
    "responses": _RUN | answers_with(InvalidRequest, EvaluationOpen, EvaluationNotCompleted),
    "openapi_extra": documented(),
}


@router.get("/{run_id}/gate", summary="Ask the gate of a run", **_GATE)
async def ask_gate(run_id: PathId, caller: Reader, database: DatabaseDep, request: Request) -> dict[str, Any]:
    """Whether the run passes the checks asked for. 200 either way: read `.passed`."""
    return await _gate(run_id, caller, database, request)


@router.post(
    "/{run_id}/gate",
    summary="Ask the gate of a run and record the answer",
    openapi_extra=documented(),
    responses=_GATE["responses"] | answers_with(IdempotencyConflict),
)
async def record_gate(
    run_id: PathId, caller: Writer, database: DatabaseDep, request: Request, key: IdempotencyKeyDep
) -> dict[str, Any]:
    """The same, kept once for each verdict and caller. A first failure alerts the account's channels."""
    return await _gate(run_id, caller, database, request, key)


async def _gate(
    run_id: UUID, caller: Caller, database: DatabaseDep, request: Request, key: str | None = None
) -> dict[str, Any]:
    async with database.session() as session:
        await runs.require(session, caller.scope, run_id)
    call = GateCall(
        scope=caller.scope,
        evaluation_id=run_id,
        given=await given_in(request),
        may_record="evaluations:write" in caller.scopes,
        posted=request.method == "POST",
        key=key,
        route=request.url.path,
    )
    return shell_gate(await called(database, call))
