"""Tests in the database: what a run starts from, and what happens at the same moment."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select, text, update
from sqlalchemy.exc import IntegrityError

from parley.engine.spec import Spec
from parley.server.agentic_tests import service
from parley.server.db.database import Database
from parley.server.db.tables import AgenticTest, AiGateway
from parley.server.definitions.snapshot import Snapshot, spec_of
from parley.server.errors import InvalidRequest, NotFound
from parley.server.kit import strictjson
from parley.server.kit.ids import new_id
from parley.server.llm.prices import Prices
from tests.factories.accounts import Tenant
from tests.factories.agentic_tests import (
    INTEGRATED,
    cancel_nothing,
    make_agentic_test,
    make_gateway,
    offer,
)


async def basis(database: Database, tenant: Tenant, test_id: UUID) -> service.RunBasis:
    async with database.session() as session:
        return await service.load_for_run(session, tenant.scope, offer(), test_id)


async def test_run_starts_from_the_fields_the_gateway_and_the_prices_of_now(
    database: Database, tenant: Tenant
) -> None:
    gateway = await make_gateway(database, tenant.scope)
    test_id = await make_agentic_test(
        database, tenant.scope, gateway.slug, seed=7, external_user_id="u-1", loss_threshold=0.15
    )
    found = await basis(database, tenant, test_id)
    assert (found.test_id, found.name, found.gateway_id) == (test_id, "Refund", gateway.id)
    assert (found.seed, found.external_user_id) == (7, "u-1")
    kept = found.snapshot
    assert (kept.gateway.slug, kept.gateway.facts["model"]) == (gateway.slug, "shop-1")
    assert (kept.fields["name"], kept.fields["gateway"]) == ("Refund", gateway.slug)
    assert kept.profile.user.model == "medium-user"
    assert kept.profile.judge.prices.prices() == Prices.of("0.75", "0.075", "3.75")
    assert set(kept.prompt_versions) == {"user", "judge"}


async def test_snapshot_that_went_through_the_database_gives_the_same_spec(
    database: Database, tenant: Tenant
) -> None:
    mock: dict[str, Any] = {"name": "find", "match": {"id": 7, "price": 2.5}, "result": "found"}
    gateway = await make_gateway(database, tenant.scope)
    test_id = await make_agentic_test(
        database,
        tenant.scope,
        gateway.slug,
        start=[{"role": "user", "content": "Grüße \u2028 🙂"}],
        tool_mocks=[mock],
        loss_threshold=0.15,
        base_threshold=0.30000000000000004,
    )
    kept = (await basis(database, tenant, test_id)).snapshot
    async with database.session() as session:
        through = await session.scalar(
            select(text("CAST(:kept AS jsonb)")).params(kept=strictjson.write(kept.model_dump(mode="json")))
        )
    assert isinstance(spec_of(kept, 1), Spec)
    assert spec_of(Snapshot.model_validate(through), 1) == spec_of(kept, 1)


async def test_integrated_llm_has_its_own_prices_and_no_gateway(database: Database, tenant: Tenant) -> None:
    found = await basis(database, tenant, await make_agentic_test(database, tenant.scope, INTEGRATED))
    assert found.gateway_id is None
    assert found.snapshot.gateway.kind == "integrated"
    assert found.snapshot.gateway.prices.prices() == Prices.of("1", "0.1", "2")


async def test_run_of_a_withdrawn_llm_is_refused(database: Database, tenant: Tenant) -> None:
    test_id = await make_agentic_test(database, tenant.scope, INTEGRATED)
    async with database.session() as session:
        with pytest.raises(InvalidRequest):
            await service.load_for_run(session, tenant.scope, offer(integrated=()), test_id)


async def test_run_of_a_foreign_or_deleted_test_is_not_found(
    database: Database, tenant: Tenant, stranger: Tenant
) -> None:
    test_id = await make_agentic_test(database, tenant.scope, INTEGRATED)
    with pytest.raises(NotFound):
        await basis(database, stranger, test_id)
    async with database.session() as session:
        await service.delete(session, tenant.scope, cancel_nothing, test_id)
    with pytest.raises(NotFound):
        await basis(database, tenant, test_id)


async def test_revision_follows_the_gateway_but_not_its_name_or_prices(
    database: Database, tenant: Tenant
) -> None:
    gateway = await make_gateway(database, tenant.scope)
    test_id = await make_agentic_test(database, tenant.scope, gateway.slug)
    first = (await basis(database, tenant, test_id)).snapshot.revision
    for columns, same in (({"name": "Other", "input_price_usd": 3}, True), ({"temperature": 0.5}, False)):
        async with database.session() as session:
            await session.execute(update(AiGateway).where(AiGateway.id == gateway.id).values(**columns))
        assert ((await basis(database, tenant, test_id)).snapshot.revision == first) is same


async def test_database_itself_refuses_a_test_of_a_foreign_gateway(
    database: Database, tenant: Tenant, stranger: Tenant
) -> None:
    foreign = await make_gateway(database, stranger.scope)
    row = AgenticTest(account_id=tenant.account_id, id=new_id(), name="x", gateway_id=foreign.id, fields={})
    with pytest.raises(IntegrityError):
        async with database.session() as session:
            session.add(row)


async def test_database_itself_refuses_a_test_without_a_target(database: Database, tenant: Tenant) -> None:
    row = AgenticTest(account_id=tenant.account_id, id=new_id(), name="x", fields={})
    with pytest.raises(IntegrityError):
        async with database.session() as session:
            session.add(row)


async def test_changes_at_the_same_moment_both_hold(database: Database, tenant: Tenant) -> None:
    test_id = await make_agentic_test(database, tenant.scope, INTEGRATED)

    async def change(body: dict[str, Any]) -> None:
        async with database.session() as session:
            await service.change(session, tenant.scope, offer(), test_id, body)

    await asyncio.gather(change({"max_turns": 20}), change({"goal": "Another"}), change({"seed": 3}))
    fields = (await basis(database, tenant, test_id)).snapshot.fields
    assert (fields["max_turns"], fields["goal"], fields["seed"]) == (20, "Another", 3)


async def test_deletion_waits_for_a_run_that_is_being_started(database: Database, tenant: Tenant) -> None:
    test_id = await make_agentic_test(database, tenant.scope, INTEGRATED)

    async def delete() -> None:
        async with database.session() as session:
            await service.delete(session, tenant.scope, cancel_nothing, test_id)

    async with database.session() as starting:
        await service.load_for_run(starting, tenant.scope, offer(), test_id)
        deletion = asyncio.create_task(delete())
        while not await _somebody_waits(database):
            assert not deletion.done()
    await deletion
    with pytest.raises(NotFound):
        await basis(database, tenant, test_id)


async def test_gateway_cannot_go_while_a_test_is_being_stored_for_it(
    database: Database, tenant: Tenant
) -> None:
    gateway = await make_gateway(database, tenant.scope)

    async def remove() -> None:
        async with database.session() as session:
            await session.execute(text("DELETE FROM ai_gateways WHERE id = :id"), {"id": gateway.id})

    async with database.session() as session:
        body = {"name": "Refund", "gateway": gateway.slug, "goal": "Get a refund"}
        made = await service.create(session, tenant.scope, offer(), body)
        removal = asyncio.create_task(remove())
        while not await _somebody_waits(database):
            assert not removal.done()
    with pytest.raises(IntegrityError):
        await removal
    assert (await basis(database, tenant, made.id)).gateway_id == gateway.id


async def test_deleted_test_lets_its_gateway_go_and_keeps_its_row(database: Database, tenant: Tenant) -> None:
    gateway = await make_gateway(database, tenant.scope)
    test_id = await make_agentic_test(database, tenant.scope, gateway.slug)
    async with database.session() as session:
        assert [used.id for used in await service.using_gateway(session, tenant.scope, gateway.id)] == [
            test_id
        ]
        await service.delete(session, tenant.scope, cancel_nothing, test_id)
        assert await service.using_gateway(session, tenant.scope, gateway.id) == []
        row = await session.scalar(select(AgenticTest).where(AgenticTest.id == test_id))
    assert row is not None
    assert row.deleted_at is not None
    assert row.gateway_id is None


async def test_using_a_gateway_is_told_to_its_own_account_alone(
    database: Database, tenant: Tenant, stranger: Tenant
) -> None:
    gateway = await make_gateway(database, tenant.scope)
    await make_agentic_test(database, tenant.scope, gateway.slug)
    async with database.session() as session:
        assert await service.using_gateway(session, stranger.scope, gateway.id) == []


async def _somebody_waits(database: Database) -> bool:
    """Whether a connection to this database waits for a lock; asked every hundredth of a second."""
    blocked = (
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    await asyncio.sleep(0.01)
    async with database.session() as session:
        return bool(await session.scalar(text(blocked)))
