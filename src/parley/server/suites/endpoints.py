"""`/api/v1/suites`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from fastapi import Request, Response

from parley.server.accounts.authenticator import Caller
from parley.server.accounts.callers import requires
from parley.server.db.dependencies import SessionDep
from parley.server.definitions.offer import Offer
from parley.server.errors import (
    AccountSuspended,
    BalanceExhausted,
    IdempotencyConflict,
    InvalidRequest,
    LlmsNotConfigured,
    NotFound,
    PublicKeyRefused,
    ScopeMissing,
)
from parley.server.evaluations import read
from parley.server.evaluations.schemas import EvaluationDetail
from parley.server.idempotency.service import IdempotencyKeyDep
from parley.server.idempotency.service import claim as claim_key
from parley.server.kit.docs import answers_with
from parley.server.kit.ids import new_id
from parley.server.kit.provide import provided
from parley.server.kit.requests import PagingDep, PathId, room_router
from parley.server.kit.schemas import Listing, Reply
from parley.server.outbound.guard import OutboundPolicy
from parley.server.suites import service
from parley.server.suites.answers import detail, line
from parley.server.suites.begin import begin_evaluation
from parley.server.suites.schemas import StartEvaluation, SuiteChange, SuiteCreate, SuiteDetail, SuiteLine
from parley.server.suites.service import Rules

router = room_router("/suites", "suites")

Reader: TypeAlias = Annotated[Caller, requires("tests:read")]
Writer: TypeAlias = Annotated[Caller, requires("evaluations:write")]
OfferDep: TypeAlias = Annotated[Offer, provided(Offer)]
PolicyDep: TypeAlias = Annotated[OutboundPolicy, provided(OutboundPolicy)]

_REFUSED = (PublicKeyRefused, ScopeMissing, NotFound)


@router.get("", summary="List suites", responses=answers_with(PublicKeyRefused, ScopeMissing))
async def list_suites(caller: Reader, session: SessionDep, paging: PagingDep) -> Listing[SuiteLine]:
    """The account's suites, newest first."""
    rows, page = await service.listed(session, caller.scope, paging)
    return Listing(data=[line(*row) for row in rows], page=page)


@router.post(
    "",
    status_code=201,
    summary="Make a suite",
    responses=answers_with(InvalidRequest, PublicKeyRefused, ScopeMissing),
)
async def create_suite(
    caller: Writer, session: SessionDep, offer: OfferDep, policy: PolicyDep, body: SuiteCreate
) -> Reply[SuiteDetail]:
    """Makes a suite of the account's tests, of scripted cases, or of both. A body with faults is answered
    with all of them."""
    row = await service.create(session, caller.scope, Rules(integrated=offer.integrated, policy=policy), body)
    return Reply(data=detail(await service.found(session, caller.scope, row.id)))


@router.get("/{suite_id}", summary="Read a suite", responses=answers_with(*_REFUSED))
async def read_suite(suite_id: PathId, caller: Reader, session: SessionDep) -> Reply[SuiteDetail]:
    """A suite with its cases."""
    return Reply(data=detail(await service.found(session, caller.scope, suite_id)))


@router.patch("/{suite_id}", summary="Change a suite", responses=answers_with(InvalidRequest, *_REFUSED))
async def change_suite(
    suite_id: PathId,
    caller: Writer,
    session: SessionDep,
    offer: OfferDep,
    policy: PolicyDep,
    body: SuiteChange,
) -> Reply[SuiteDetail]:
    """Changes only what is sent. Lists and objects are replaced; null clears `description`, `cron` and
    `script`. Evaluations that have begun keep what they began with."""
    rules = Rules(integrated=offer.integrated, policy=policy)
    row = await service.change(session, caller.scope, rules, suite_id, body)
    await session.refresh(row)
    return Reply(data=detail(await service.found(session, caller.scope, suite_id)))


@router.delete("/{suite_id}", status_code=204, summary="Delete a suite", responses=answers_with(*_REFUSED))
async def delete_suite(suite_id: PathId, caller: Writer, session: SessionDep) -> Response:
    """Hides a suite and ends its schedule. Evaluations of it stay."""
    await service.delete(session, caller.scope, suite_id)
    return Response(status_code=204)


@router.post(
    "/{suite_id}/evaluations",
    status_code=202,
    summary="Run a suite",
    responses={
        200: {
            "model": Reply[EvaluationDetail],
            "description": "The evaluation this Idempotency-Key has begun before.",
        },
        **answers_with(
            InvalidRequest,
            BalanceExhausted,
            AccountSuspended,
            IdempotencyConflict,
            LlmsNotConfigured,
            *_REFUSED,
        ),
    },
)
async def run_suite(
    suite_id: PathId,
    caller: Writer,
    session: SessionDep,
    offer: OfferDep,
    request: Request,
    response: Response,
    key: IdempotencyKeyDep,
    body: StartEvaluation | None = None,
) -> Reply[EvaluationDetail]:
    """Freezes the cases as they stand now and begins an evaluation. Its runs start one by one as quota
    and slots come free; each end becomes a case result."""
    evaluation_id = new_id()
    if key is not None:
        made = await claim_key(
            session,
            caller.scope,
            route=request.url.path,
            key=key,
            body=await request.body(),
            new_id=evaluation_id,
        )
        if made != evaluation_id:
            response.status_code = 200
            before = await read.shown(session, caller.scope, made)
            return Reply(message="This Idempotency-Key has begun an evaluation before.", data=before)
    wanted = body or StartEvaluation()
    row = await begin_evaluation(session, caller.scope, offer, suite_id, wanted, evaluation_id=evaluation_id)
    data = await read.shown(session, caller.scope, row.id)
    return Reply(message="The evaluation is on its way.", data=data)
