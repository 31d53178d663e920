"""`/api/v1/agentic-tests/{test}/runs`: start a run of a test, list its runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response

from parley.server.accounts.authenticator import Caller
from parley.server.accounts.callers import requires
from parley.server.agentic_tests import service
from parley.server.db.dependencies import SessionDep
from parley.server.definitions.offer import Offer
from parley.server.errors import (
    AccountSuspended,
    BalanceExhausted,
    IdempotencyConflict,
    IntegratedLimitReached,
    InvalidRequest,
    LlmsNotConfigured,
    NotFound,
    PublicKeyRefused,
    QuotaExhausted,
    ScopeMissing,
)
from parley.server.idempotency.service import IdempotencyKeyDep
from parley.server.idempotency.service import claim as claim_key
from parley.server.kit.docs import answers_with
from parley.server.kit.ids import new_id
from parley.server.kit.provide import provided
from parley.server.kit.requests import PagingDep, PathId, room_router
from parley.server.kit.schemas import Listing, Reply
from parley.server.queue.jobs import RunQueue
from parley.server.runs import service as runs
from parley.server.runs.record import summary
from parley.server.runs.schemas import RunState, RunSummary, StartRun
from parley.server.runs.start import NewRun, start

router = room_router("/agentic-tests/{test_id}/runs", "runs")

Reader = Annotated[Caller, requires("tests:read")]
Runner = Annotated[Caller, requires("runs:write")]


@router.post(
    "",
    status_code=202,
    summary="Start a run",
    responses={
        200: {"model": Reply[RunSummary], "description": "The run this Idempotency-Key has made before."},
        **answers_with(
            InvalidRequest,
            BalanceExhausted,
            PublicKeyRefused,
            ScopeMissing,
            AccountSuspended,
            NotFound,
            IdempotencyConflict,
            QuotaExhausted,
            IntegratedLimitReached,
            LlmsNotConfigured,
        ),
    },
)
async def start_run(
    test_id: PathId,
    caller: Runner,
    session: SessionDep,
    offer: Annotated[Offer, provided(Offer)],
    queue: Annotated[RunQueue, provided(RunQueue)],
    request: Request,
    response: Response,
    key: IdempotencyKeyDep,
    body: StartRun | None = None,
) -> Reply[RunSummary]:
    """Starts a run of the test as it stands now. Without a body the test's seed holds, or one is drawn."""
    run_id = new_id()
    if key is not None:
        made = await claim_key(
            session,
            caller.scope,
            route=request.url.path,
            key=key,
            body=await request.body(),
            new_id=run_id,
        )
        if made != run_id:
            response.status_code = 200
            before = await runs.read_summary(session, caller.scope, test_id, made)
            return Reply(message="This Idempotency-Key has started a run before.", data=before)
    basis = await service.load_for_run(session, caller.scope, offer, test_id)
    new = NewRun(
        id=run_id,
        test_id=basis.test_id,
        snapshot=basis.snapshot,
        seed=body.seed if body and body.seed is not None else basis.seed,
        trigger="manual",
        external_user_id=basis.external_user_id,
    )
    started = await start(session, caller.scope, new, queue)
    response.headers.update(started.quota.headers())
    await session.refresh(started.run)
    return Reply(message="The run is on its way.", data=summary(started.run))


@router.get("", summary="List runs", responses=answers_with(PublicKeyRefused, ScopeMissing, NotFound))
async def list_runs(
    test_id: PathId,
    caller: Reader,
    session: SessionDep,
    paging: PagingDep,
    state: Annotated[RunState | None, Query(description="Only runs in this state.")] = None,
) -> Listing[RunSummary]:
    """The test's runs, newest first."""
    await service.require(session, caller.scope, test_id)
    rows, page = await runs.listed(session, caller.scope, test_id, state, paging)
    return Listing(data=list(rows), page=page)
