"""What `Idempotency-Key` promises."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest
from sqlalchemy import text

from parley.server.db.database import Database
from parley.server.db.repository import SystemScope
from parley.server.errors import IdempotencyConflict
from parley.server.idempotency.service import claim, forget_old
from parley.server.kit.ids import new_id
from tests.factories.accounts import Tenant

ROUTE = "/runs"


async def claimed(
    database: Database, tenant: Tenant, *, key: str = "k", body: bytes = b"{}", route: str = ROUTE
) -> tuple[UUID, bool]:
    """The id a claim gives in a transaction of its own, and whether it is the proposed one."""
    proposed = new_id()
    async with database.session() as session:
        found = await claim(session, tenant.scope, route=route, key=key, body=body, new_id=proposed)
    return found, found == proposed


async def test_same_key_and_body_give_the_same_resource(database: Database, tenant: Tenant) -> None:
    first, is_new = await claimed(database, tenant)
    assert is_new
    assert await claimed(database, tenant) == (first, False)


async def test_other_body_is_a_conflict(database: Database, tenant: Tenant) -> None:
    await claimed(database, tenant)
    with pytest.raises(IdempotencyConflict):
        await claimed(database, tenant, body=b'{"seed":1}')


async def test_keys_are_scoped_by_account_and_route(
    database: Database, tenant: Tenant, stranger: Tenant
) -> None:
    await claimed(database, tenant)
    assert (await claimed(database, stranger))[1]
    assert (await claimed(database, tenant, route="/other"))[1]
    assert (await claimed(database, tenant, key="other"))[1]


async def test_failed_create_is_not_remembered(database: Database, tenant: Tenant) -> None:
    async def attempt() -> None:
        async with database.session() as session:
            await claim(session, tenant.scope, route=ROUTE, key="k", body=b"{}", new_id=new_id())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await attempt()
    assert (await claimed(database, tenant))[1]


async def test_parallel_twins_make_one_resource(database: Database, tenant: Tenant) -> None:
    answers = await asyncio.gather(*(claimed(database, tenant) for _ in range(8)))
    assert len({found for found, _ in answers}) == 1
    assert sum(is_new for _, is_new in answers) == 1


async def test_twin_of_a_failed_create_makes_it(database: Database, tenant: Tenant) -> None:
    async with database.session() as session:
        await claim(session, tenant.scope, route=ROUTE, key="k", body=b"{}", new_id=new_id())
        twin = asyncio.create_task(claimed(database, tenant))
        await asyncio.sleep(0.1)
        assert not twin.done()
        await session.rollback()
    assert (await twin)[1]


async def test_key_is_forgotten_after_a_day(database: Database, tenant: Tenant) -> None:
    first, _ = await claimed(database, tenant)
    await _age(database, "23 hours 59 minutes")
    assert await claimed(database, tenant) == (first, False)
    await _age(database, "2 minutes")
    again, is_new = await claimed(database, tenant, body=b"other")
    assert is_new
    assert await claimed(database, tenant, body=b"other") == (again, False)


async def test_old_keys_are_deleted_in_batches(database: Database, tenant: Tenant) -> None:
    for number in range(3):
        await claimed(database, tenant, key=str(number))
    await _age(database, "25 hours")
    await claimed(database, tenant, key="young")
    deleted = []
    for _ in range(3):
        async with database.session() as session:
            deleted.append(await forget_old(session, SystemScope("a test"), limit=2))
    assert deleted == [2, 1, 0]
    assert not (await claimed(database, tenant, key="young"))[1]


async def _age(database: Database, by: str) -> None:
    async with database.session() as session:
        await session.execute(text(f"UPDATE idempotency_keys SET created_at = created_at - interval '{by}'"))
