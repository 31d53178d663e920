"""Rules of gateways."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

from sqlalchemy.exc import IntegrityError

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import AiGateway
from parley.server.errors import GatewayInUse, InvalidRequest, NotFound
from parley.server.gateways.repository import GatewayRepository
from parley.server.gateways.schemas import GatewayChange, GatewayCreate, GivenPrices, Timeouts
from parley.server.gateways.secrets import seal_api_key, seal_headers
from parley.server.gateways.use import MOST_NAMED, GatewayUse
from parley.server.kit.crypto import Keyring
from parley.server.kit.ids import new_id, parse_id
from parley.server.outbound.errors import OutboundFault
from parley.server.outbound.guard import OutboundPolicy

_LONGEST_SLUG_NAME = 60
_SLUG_TRIES = 5
"""Two gateways of one name get the same four digits once in 65,536 times."""


async def create(
    session: Session, scope: AccountScope, keyring: Keyring, policy: OutboundPolicy, body: GatewayCreate
) -> AiGateway:
    """Make a gateway. Raises `InvalidRequest` for an address that may not be called."""
    _check_address(policy, body.base_url)
    gateways = GatewayRepository(session, scope)
    for _ in range(_SLUG_TRIES - 1):
        try:
            async with session.begin_nested():
                return await gateways.add(_new(scope, keyring, body))
        except IntegrityError:
            continue
    return await gateways.add(_new(scope, keyring, body))


async def change(
    session: Session,
    scope: AccountScope,
    keyring: Keyring,
    policy: OutboundPolicy,
    gateway_id: UUID,
    body: GatewayChange,
) -> AiGateway:
    """Change what was sent. Raises `NotFound`, and `InvalidRequest` for a refused address."""
    row = await GatewayRepository(session, scope).get(gateway_id, lock=True)
    if row is None:
        raise NotFound
    if "base_url" in body.model_fields_set:
        _check_address(policy, body.base_url)
    _lay_over(row, keyring, body)
    await session.flush()
    return row


async def delete(session: Session, scope: AccountScope, use: GatewayUse, gateway_id: UUID) -> None:
    """Delete a gateway that no test uses. Raises `NotFound` or `GatewayInUse`."""
    gateways = GatewayRepository(session, scope)
    row = await gateways.get(gateway_id, lock=True)
    if row is None:
        raise NotFound
    await _refuse_if_used(session, scope, use, gateway_id)
    try:
        async with session.begin_nested():
            await gateways.delete(row)
    except IntegrityError:
        # A test began to use it in between, and the foreign key noticed.
        await _refuse_if_used(session, scope, use, gateway_id)
        raise GatewayInUse from None


async def find(session: Session, scope: AccountScope, reference: str) -> AiGateway | None:
    """The gateway a test's `gateway` field means: its slug, or its id."""
    gateways = GatewayRepository(session, scope)
    gateway_id = parse_id(reference)
    return await gateways.get(gateway_id) if gateway_id is not None else await gateways.by_slug(reference)


def slug_of(name: str, gateway_id: UUID) -> str:
    """`name:last4`: the name in lower case with single dashes, and the last four digits of the id."""
    words = re.sub(r"[^\w]+", "-", name.lower()).strip("-")[:_LONGEST_SLUG_NAME].strip("-")
    return f"{words or 'gateway'}:{gateway_id.hex[-4:]}"


def _new(scope: AccountScope, keyring: Keyring, body: GatewayCreate) -> AiGateway:
    gateway_id = new_id()
    row = AiGateway(account_id=scope.account_id, id=gateway_id, slug=slug_of(body.name, gateway_id))
    _lay_over(row, keyring, body)
    return row


def _lay_over(row: AiGateway, keyring: Keyring, body: GatewayCreate | GatewayChange) -> None:
    for field in body.model_fields_set:
        value = getattr(body, field)
        for column, stored in _columns(row, keyring, field, value).items():
            setattr(row, column, stored)


def _columns(row: AiGateway, keyring: Keyring, field: str, value: Any) -> dict[str, Any]:
    """The columns that hold a field; None stands for the default."""
    match field:
        case "api_key":
            return {"sealed_api_key": seal_api_key(keyring, row, value)}
        case "headers":
            return {"sealed_headers": seal_headers(keyring, row, value), "header_names": sorted(value or {})}
        case "prices":
            prices = value or GivenPrices()
            return {f"{kind}_price_usd": getattr(prices, kind) for kind in ("input", "cached", "output")}
        case "timeouts":
            timeouts = value or Timeouts()
            return {
                "first_token_timeout_s": timeouts.first_token_s,
                "idle_timeout_s": timeouts.idle_s,
                "inference_timeout_s": timeouts.inference_s,
            }
        case "tools":
            return {"tools": [tool.model_dump(exclude_unset=True) for tool in value or ()]}
        case "stop":
            return {"stop": value or []}
        case "extra_body":
            return {"extra_body": value or {}}
        case "forward_metadata":
            return {"forward_metadata": value or "body"}
        case _:
            return {field: value}


def _check_address(policy: OutboundPolicy, base_url: str) -> None:
    try:
        policy.read(base_url)
    except OutboundFault as fault:
        raise InvalidRequest.field("base_url", fault.message) from None


async def _refuse_if_used(session: Session, scope: AccountScope, use: GatewayUse, gateway_id: UUID) -> None:
    tests = await use.tests(session, scope, gateway_id)
    if tests:
        named = [{"id": str(test.id), "name": test.name} for test in tests[:MOST_NAMED]]
        names = ", ".join(test["name"] for test in named[:3])
        raise GatewayInUse(f"This gateway is in use by {names}.", details={"tests": named})
