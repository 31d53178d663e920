"""`POST /api/v1/generations/agentic-tests`: evaluate now, and stream it."""

from __future__ import annotations

import secrets
from typing import Annotated, Any

from fastapi import Request

from parley.server.accounts.authenticator import Authenticator, Caller
from parley.server.accounts.callers import requires
from parley.server.agentic_tests.targets import UNKNOWN_TARGET, gateway_target, integrated_target
from parley.server.conversation.parties import TargetGone
from parley.server.conversation.sse import EventStream, StreamRules
from parley.server.db.database import Database
from parley.server.db.dependencies import DatabaseDep
from parley.server.db.raw import RawConnection
from parley.server.definitions.body import sent_value
from parley.server.definitions.faults import DefinitionRefused
from parley.server.definitions.offer import Offer
from parley.server.definitions.openapi import direct_schema, request_body
from parley.server.definitions.read import read_direct
from parley.server.definitions.schemas import DirectBody, stored
from parley.server.definitions.snapshot import Snapshot, Target, snapshot
from parley.server.direct.evaluate import DirectEvaluations, DirectOrder
from parley.server.direct.slots import take_slot
from parley.server.errors import (
    AccountSuspended,
    BalanceExhausted,
    ConcurrencyExhausted,
    IntegratedLimitReached,
    InvalidRequest,
    NotResumable,
    PublicKeyRefused,
    QuotaExhausted,
    ScopeMissing,
)
from parley.server.gateways.straight import find_straight
from parley.server.journal.keep import Standing
from parley.server.kit.docs import answers_with
from parley.server.kit.provide import provided
from parley.server.kit.requests import room_router
from parley.server.kit.text import is_storable
from parley.server.llm.integrated import is_integrated
from parley.server.quotas.gate import enter_straight, spend_straight
from parley.server.quotas.window import QuotaStanding
from parley.server.resources.reader import ResourceUnavailable
from parley.server.runs.start import SEED_BOUND, wanted_by

router = room_router("/generations", "direct evaluation")

Runner = Annotated[Caller, requires("runs:write")]

_EXAMPLE = {
    "model": "shop-support:9f3a",
    "goal": "You want to send back a pair of boots that is too small.",
    "validation_criteria": "The customer gets a return label and knows when the money comes back.",
    "max_turns": 4,
}
_DOCS: dict[str, Any] = {
    "response_class": EventStream,
    "responses": {
        200: {"content": {"text/event-stream": {}}, "description": "The events, to the one terminal event."},
        **answers_with(
            InvalidRequest,
            BalanceExhausted,
            PublicKeyRefused,
            ScopeMissing,
            AccountSuspended,
            NotResumable,
            QuotaExhausted,
            ConcurrencyExhausted,
            IntegratedLimitReached,
        ),
    },
    "openapi_extra": request_body(direct_schema(), {"A short look": _EXAMPLE}),
}


@router.post("/validations", summary="Evaluate and stream (alias)", **_DOCS)
@router.post("/agentic-tests", summary="Evaluate and stream", **_DOCS)
async def evaluate(
    request: Request,
    caller: Runner,
    database: DatabaseDep,
    offer: Annotated[Offer, provided(Offer)],
    evaluations: Annotated[DirectEvaluations, provided(DirectEvaluations)],
    authenticator: Annotated[Authenticator, provided(Authenticator)],
    rules: Annotated[StreamRules, provided(StreamRules)],
) -> EventStream:
    """Holds one conversation and streams it. Nothing of it is stored; its cost is charged.

    A caller that goes away ends it. Faults that are known first are plain HTTP answers.
    """
    if "last-event-id" in request.headers:
        raise NotResumable
    if "idempotency-key" in request.headers:
        raise InvalidRequest.field("Idempotency-Key", "is not taken here: a stream cannot be given twice")
    value = await sent_value(request)
    order, quota = await _order(value, caller, database, offer, evaluations.lease_s)
    try:
        outgoing = await evaluations.begin(order)
    except TargetGone:
        raise InvalidRequest.field("model", UNKNOWN_TARGET) from None
    except ResourceUnavailable as fault:
        problem = f"cannot be read: {fault.problem[0].lower()}{fault.problem[1:].rstrip('.')}"
        raise InvalidRequest.field(f"resources.{fault.place}.data", problem) from None
    return EventStream(
        outgoing.batches(),
        rules,
        may_go_on=lambda: authenticator.is_current(caller),
        on_leave=lambda: evaluations.leave(order.call_id),
        headers=quota.headers(),
    )


async def _order(
    value: object, caller: Caller, database: Database, offer: Offer, lease_s: float
) -> tuple[DirectOrder, QuotaStanding]:
    try:
        body = read_direct(value)
    except DefinitionRefused as refused:
        raise refused.as_answer() from None
    async with database.raw() as connection:
        kept = await _snapshot(connection, caller, offer, body)
        async with connection.transaction():
            return await _accounted(connection, caller, kept, body.seed, lease_s)


async def _snapshot(connection: RawConnection, caller: Caller, offer: Offer, body: DirectBody) -> Snapshot:
    target = await _target(connection, caller, offer, body.model)
    if target is None:
        raise InvalidRequest.field("model", UNKNOWN_TARGET)
    return snapshot(
        stored(body),
        target=target,
        profile=offer.profile_to_play(body.profile),
        prompt_versions=offer.prompt_versions,
    )


async def _target(connection: RawConnection, caller: Caller, offer: Offer, reference: str) -> Target | None:
    """What `reference` (slug, id, or `@vendor/name`) means to the account: a copy, nothing is held."""
    if is_integrated(reference):
        llm = offer.integrated.find(reference)
        return None if llm is None else integrated_target(reference, llm)
    if not is_storable(reference):
        return None
    gateway = await find_straight(connection, caller.scope, reference)
    return None if gateway is None else gateway_target(gateway)


async def _accounted(
    connection: RawConnection, caller: Caller, kept: Snapshot, seed: int | None, lease_s: float
) -> tuple[DirectOrder, QuotaStanding]:
    """Take a slot and spend a unit. A refusal leaves neither: the transaction is rolled back."""
    entrant = await enter_straight(connection, caller.account_id)
    call_id = await take_slot(connection, caller.scope, entrant.plan.concurrent_runs, lease_s)
    quota = await spend_straight(connection, entrant, wanted_by(kept))
    metered = entrant.plan.metered
    order = DirectOrder(
        account_id=caller.account_id,
        call_id=call_id,
        snapshot=kept,
        seed=secrets.randbelow(SEED_BOUND) if seed is None else seed,
        multiplier=entrant.plan.multiplier,
        standing=Standing(
            balance=entrant.balance, account_active=True, metered=metered, cancel_requested=False
        ),
    )
    return order, quota
