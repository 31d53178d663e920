"""Tests, gateways and what the operator offers, made without the API."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from parley.server.agentic_tests import service
from parley.server.db.database import Database
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import AiGateway
from parley.server.definitions.offer import Offer
from parley.server.kit.ids import new_id
from parley.server.llm.endpoint import LlmEndpoint
from parley.server.llm.integrated import IntegratedLlm, IntegratedLlms
from parley.server.llm.prices import Prices
from parley.server.llm.profiles import PROFILE_NAMES, SEATS, ProfileValues, SeatValues, profiles_of

INTEGRATED = "@acme/assistant-1"


def offer(*, integrated: tuple[str, ...] = (INTEGRATED,)) -> Offer:
    """Profiles of llms that nobody calls, and the integrated llms of these names."""
    base_url = "http://127.0.0.1:8999/v1"
    seats = {(name, seat): SeatValues(model=f"{name}-{seat}") for name in PROFILE_NAMES for seat in SEATS}
    llms = [
        IntegratedLlm(
            slug=slug,
            endpoint=LlmEndpoint(base_url=base_url, model=slug),
            prices=Prices.of("1", "0.1", "2"),
        )
        for slug in integrated
    ]
    return Offer(
        profiles=profiles_of(ProfileValues(base_url=base_url, seats=seats)), integrated=IntegratedLlms(llms)
    )


async def cancel_nothing(_session: Session, _scope: AccountScope, _test_id: UUID) -> None:
    """For the deletion of a test without runs."""


async def make_gateway(database: Database, scope: AccountScope, name: str = "Shop") -> AiGateway:
    """A gateway of an account."""
    gateway_id = new_id()
    row = AiGateway(
        account_id=scope.account_id,
        id=gateway_id,
        name=name,
        slug=f"{name.lower()}:{gateway_id.hex[-4:]}",
        base_url="http://127.0.0.1:8999/v1",
        model="shop-1",
    )
    async with database.session() as session:
        session.add(row)
    return row


async def make_agentic_test(database: Database, scope: AccountScope, gateway: str, **fields: Any) -> UUID:
    """A test of an account."""
    body = {"name": "Refund", "gateway": gateway, "goal": "Get a refund"} | fields
    async with database.session() as session:
        return (await service.create(session, scope, offer(), body)).id
