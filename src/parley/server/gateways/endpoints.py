"""`/api/v1/ai-gateways`."""

from __future__ import annotations

from typing import Annotated

from fastapi import Response

from parley.server.accounts.authenticator import Caller
from parley.server.accounts.callers import requires
from parley.server.db.dependencies import DatabaseDep, SessionDep
from parley.server.db.tables import AiGateway
from parley.server.errors import (
    AccountSuspended,
    GatewayInUse,
    InvalidRequest,
    NotFound,
    PublicKeyRefused,
    ScopeMissing,
)
from parley.server.gateways import service
from parley.server.gateways.repository import GatewayRepository
from parley.server.gateways.schemas import (
    CheckAnswer,
    GatewayAnswer,
    GatewayChange,
    GatewayCreate,
    PricesAnswer,
    TimeoutsAnswer,
)
from parley.server.gateways.target import endpoint_of
from parley.server.gateways.use import GatewayUse
from parley.server.kit.crypto import Keyring
from parley.server.kit.docs import answers_with
from parley.server.kit.provide import provided
from parley.server.kit.requests import PagingDep, PathId, room_router
from parley.server.kit.schemas import Listing, Reply
from parley.server.llm.check import check_target
from parley.server.llm.pool import LlmPool
from parley.server.outbound.guard import OutboundPolicy

router = room_router("/ai-gateways", "gateways")

Reader = Annotated[Caller, requires("tests:read")]
Writer = Annotated[Caller, requires("tests:write")]
KeyringDep = Annotated[Keyring, provided(Keyring)]
PolicyDep = Annotated[OutboundPolicy, provided(OutboundPolicy)]

_REFUSALS = (PublicKeyRefused, ScopeMissing, AccountSuspended)


@router.get("", summary="List gateways", responses=answers_with(*_REFUSALS))
async def list_gateways(caller: Reader, session: SessionDep, paging: PagingDep) -> Listing[GatewayAnswer]:
    """The account's gateways, newest first."""
    gateways = GatewayRepository(session, caller.scope)
    rows, page = await gateways.page(gateways.rows(), paging)
    return Listing(data=[_answer(row) for row in rows], page=page)


@router.post(
    "", status_code=201, summary="Make a gateway", responses=answers_with(InvalidRequest, *_REFUSALS)
)
async def create_gateway(
    body: GatewayCreate, caller: Writer, session: SessionDep, keyring: KeyringDep, policy: PolicyDep
) -> Reply[GatewayAnswer]:
    """Its key and the values of its headers are sealed and never shown again."""
    return Reply(data=_answer(await service.create(session, caller.scope, keyring, policy, body)))


@router.get("/{gateway_id}", summary="Read a gateway", responses=answers_with(*_REFUSALS, NotFound))
async def read_gateway(gateway_id: PathId, caller: Reader, session: SessionDep) -> Reply[GatewayAnswer]:
    """One gateway, without its secrets."""
    row = await GatewayRepository(session, caller.scope).get(gateway_id)
    if row is None:
        raise NotFound
    return Reply(data=_answer(row))


@router.patch(
    "/{gateway_id}",
    summary="Change a gateway",
    responses=answers_with(InvalidRequest, *_REFUSALS, NotFound),
)
async def change_gateway(
    gateway_id: PathId,
    body: GatewayChange,
    caller: Writer,
    session: SessionDep,
    keyring: KeyringDep,
    policy: PolicyDep,
) -> Reply[GatewayAnswer]:
    """Changes only what is sent; objects and lists are replaced, null clears. The slug stays."""
    row = await service.change(session, caller.scope, keyring, policy, gateway_id, body)
    return Reply(data=_answer(row))


@router.delete(
    "/{gateway_id}",
    status_code=204,
    summary="Delete a gateway",
    responses=answers_with(*_REFUSALS, NotFound, GatewayInUse),
)
async def delete_gateway(
    gateway_id: PathId,
    caller: Writer,
    session: SessionDep,
    use: Annotated[GatewayUse, provided(GatewayUse)],
) -> Response:
    """Refused while tests use it."""
    await service.delete(session, caller.scope, use, gateway_id)
    return Response(status_code=204)


@router.post("/{gateway_id}/check", summary="Try a gateway", responses=answers_with(*_REFUSALS, NotFound))
async def check_gateway(
    gateway_id: PathId,
    caller: Writer,
    database: DatabaseDep,
    keyring: KeyringDep,
    llms: Annotated[LlmPool, provided(LlmPool)],
) -> Reply[CheckAnswer]:
    """Sends one tiny message and tells latency, streaming, usage and any fault in plain words."""
    async with database.session() as session:
        row = await GatewayRepository(session, caller.scope).get(gateway_id)
    if row is None:
        raise NotFound
    report = await check_target(llms.customer_speaker(endpoint_of(row, keyring)))
    return Reply(message=report.fault, data=CheckAnswer.model_validate(report))


def _answer(row: AiGateway) -> GatewayAnswer:
    plain = {
        field: getattr(row, field)
        for field in GatewayAnswer.model_fields
        if field not in ("has_api_key", "prices", "timeouts")
    }
    return GatewayAnswer(
        **plain,
        has_api_key=row.sealed_api_key is not None,
        prices=PricesAnswer(
            input=row.input_price_usd, cached=row.cached_price_usd, output=row.output_price_usd
        ),
        timeouts=TimeoutsAnswer(
            first_token_s=row.first_token_timeout_s,
            idle_s=row.idle_timeout_s,
            inference_s=row.inference_timeout_s,
        ),
    )
