"""Gateways."""

from __future__ import annotations

from typing import Any

from parley.server.db.tables import AiGateway
from parley.server.gateways import service
from parley.server.gateways.schemas import GatewayCreate
from parley.server.wiring import Services
from tests.factories.accounts import Tenant

GATEWAY_BODY: dict[str, Any] = {
    "name": "Shop support",
    "base_url": "https://support.example.com/v1",
    "model": "support-2",
}


async def make_gateway(services: Services, tenant: Tenant, **fields: Any) -> AiGateway:
    """A gateway of the tenant's; `fields` as in the body of a POST."""
    body = GatewayCreate.model_validate(GATEWAY_BODY | fields)
    async with services.database.session() as session:
        return await service.create(session, tenant.scope, services.keyring, services.outbound_policy, body)
