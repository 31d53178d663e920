"""Slugs, and finding a gateway by what a test calls it."""

from __future__ import annotations

from uuid import UUID

import pytest
from sqlalchemy import text

from parley.server.db.database import Database
from parley.server.gateways import service
from parley.server.gateways.repository import GatewayRepository
from parley.server.gateways.secrets import open_api_key
from parley.server.kit.crypto import UnsealError
from parley.server.wiring import Services
from tests.factories.accounts import Tenant
from tests.factories.gateways import make_gateway


async def test_gateway_is_found_by_slug_and_by_id_in_its_account_only(
    services: Services, tenant: Tenant, stranger: Tenant
) -> None:
    row = await make_gateway(services, tenant)
    async with services.database.session() as session:
        for reference in (row.slug, str(row.id)):
            found = await service.find(session, tenant.scope, reference)
            assert found is not None
            assert found.id == row.id
            assert await service.find(session, stranger.scope, reference) is None
        assert await service.find(session, tenant.scope, "") is None


async def test_taken_slug_gets_another_number(
    services: Services, tenant: Tenant, stranger: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await make_gateway(services, tenant)
    twin = UUID(int=first.id.int ^ (1 << 64))
    assert twin.hex[-4:] == first.id.hex[-4:]
    other = UUID(int=first.id.int ^ 1)
    offered = iter([twin, other, twin])
    monkeypatch.setattr(service, "new_id", lambda: next(offered))
    second = await make_gateway(services, tenant)
    assert (second.id, second.slug) == (other, f"shop-support:{other.hex[-4:]}")
    assert (await make_gateway(services, stranger)).slug == first.slug


async def test_secrets_do_not_open_for_another_row(
    services: Services, database: Database, tenant: Tenant
) -> None:
    first = await make_gateway(services, tenant, api_key="first")
    await make_gateway(services, tenant, api_key="second", name="Other")
    async with database.session() as session:
        await session.execute(
            text(
                "UPDATE ai_gateways SET sealed_api_key = "
                "(SELECT sealed_api_key FROM ai_gateways WHERE id = :id)"
            ),
            {"id": first.id},
        )
    async with database.session() as session:
        moved = await service.find(session, tenant.scope, str(first.id))
        assert moved is not None
        assert open_api_key(services.keyring, moved) == "first"
        other = (await session.scalars(GatewayRepository(session, tenant.scope).rows())).all()
        stolen = next(row for row in other if row.id != first.id)
        with pytest.raises(UnsealError):
            open_api_key(services.keyring, stolen)
