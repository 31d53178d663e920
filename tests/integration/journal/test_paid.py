"""Entries that are paid for: many at once of one account, and one whose run is lost while it waits."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from uuid import UUID, uuid4

import asyncpg
import pytest

from parley.engine.chat.pieces import Usage
from parley.engine.events import Spent
from parley.server.accounts.lock import lock_account
from parley.server.billing.audit import audit_books
from parley.server.db.database import Database
from parley.server.journal.keep import Charge, Journal, Lease, LeaseLost
from parley.server.kit.ids import new_id
from parley.server.runs.claim import renew
from tests.factories.accounts import Tenant
from tests.factories.agentic_tests import make_agentic_test, make_gateway
from tests.stage import until

USAGE = Usage(model="big-1", prompt_tokens=10, completion_tokens=5)


def entry(seq: int) -> Spent:
    """An attempt that came to nothing."""
    return Spent(
        role="user",
        turn=1,
        attempt=seq,
        reason="nudged",
        code="empty",
        error="Nothing was said.",
        will_retry=True,
        usage=USAGE,
        at_ms=1,
    )


async def running(database: Database, tenant: Tenant, count: int) -> list[Lease]:
    """Runs of one account that workers hold."""
    gateway = await make_gateway(database, tenant.scope)
    test_id = await make_agentic_test(database, tenant.scope, gateway.slug)
    leases = [
        Lease(account_id=tenant.account_id, run_id=new_id(), token=uuid4(), seconds=30) for _ in range(count)
    ]
    async with database.raw() as connection:
        await connection.executemany(
            "INSERT INTO runs (account_id, id, test_id, state, trigger, revision, seed, definition,"
            " lease_token, admitted_at, lease_until)"
            " VALUES ($1, $2, $3, 'running', 'manual', 'r', 1, '{}', $4, now(),"
            " now() + interval '30 seconds')",
            [(lease.account_id, lease.run_id, test_id, lease.token) for lease in leases],
        )
    return leases


def charge(amount: str) -> Charge:
    return Charge(amount=Decimal(amount), role="user", usage=USAGE)


async def balance(database: Database, account_id: UUID) -> Decimal:
    async with database.raw() as connection:
        found: Decimal = await connection.fetchval("SELECT balance FROM accounts WHERE id = $1", account_id)
        return found


async def test_entries_of_one_account_are_kept_at_once_and_never_lock_each_other_out(
    database: Database, tenant: Tenant
) -> None:
    """C188"""
    journal = Journal(database)

    async def converse(lease: Lease) -> None:
        for seq in range(1, 41):
            await journal.keep(lease, seq, entry(seq), charge("0.000000001" if seq % 4 else "0"))

    await asyncio.gather(*(converse(lease) for lease in await running(database, tenant, 8)))
    assert await balance(database, tenant.account_id) == 100 - 8 * 30 * Decimal("0.000000001")
    async with database.session() as session:
        assert await audit_books(session) == []


@pytest.mark.parametrize("amount", ["0.5", "0"], ids=["paid", "free"])
async def test_run_that_is_lost_while_its_entry_waits_costs_nothing(
    database: Database, tenant: Tenant, amount: str
) -> None:
    [lease] = await running(database, tenant, 1)
    journal = Journal(database)
    async with database.session() as session:
        await lock_account(session, tenant.account_id)
        if amount == "0":
            await take_over(database, lease)
        keeping = asyncio.create_task(journal.keep(lease, 1, entry(1), charge(amount)))
        if amount != "0":
            await somebody_waits(database)
            await take_over(database, lease)
    with pytest.raises(LeaseLost):
        await keeping
    assert await balance(database, tenant.account_id) == 100
    async with database.raw() as connection:
        assert await connection.fetchval("SELECT count(*) FROM entries") == 0
    async with database.session() as session:
        assert await audit_books(session) == []


async def test_run_that_is_lost_among_others_takes_nothing_from_them(
    database: Database, tenant: Tenant
) -> None:
    """Three entries wait while a first one is written; the run of one of them is lost meanwhile."""
    first, kept, lost, also_kept = await running(database, tenant, 4)
    journal = Journal(database)
    async with database.session() as session:
        await lock_account(session, tenant.account_id)
        keeping = [
            asyncio.create_task(journal.keep(lease, 1, entry(1), charge("0.5")))
            for lease in (first, kept, lost, also_kept)
        ]
        await somebody_waits(database)
        await take_over(database, lost)
    results = await asyncio.gather(*keeping, return_exceptions=True)
    assert [isinstance(result, LeaseLost) for result in results] == [False, False, True, False]
    assert await balance(database, tenant.account_id) == Decimal("98.5")
    async with database.session() as session:
        assert await audit_books(session) == []


async def test_account_that_is_waited_for_holds_up_no_other(
    database: Database, tenant: Tenant, stranger: Tenant
) -> None:
    [held], [free] = await running(database, tenant, 1), await running(database, stranger, 1)
    journal = Journal(database)
    async with database.session() as session:
        await lock_account(session, tenant.account_id)
        waiting = asyncio.create_task(journal.keep(held, 1, entry(1), charge("0.5")))
        await somebody_waits(database)
        standing = await journal.keep(free, 1, entry(1), charge("0.5"))
        assert not waiting.done()
    assert standing.balance == Decimal("99.5")
    assert (await waiting).balance == Decimal("99.5")


async def test_entries_and_renewals_of_many_runs_never_lock_each_other_out(
    database: Database, tenant: Tenant, stranger: Tenant
) -> None:
    leases = [*await running(database, tenant, 6), *await running(database, stranger, 6)]
    journal = Journal(database)

    async def converse(lease: Lease) -> None:
        for seq in range(1, 16):
            await journal.keep(lease, seq, entry(seq), charge("0.001"))

    async def renewing() -> None:
        while True:
            assert len(await renew(database, leases[::-1], 30)) == len(leases)

    renewals = asyncio.create_task(renewing())
    await asyncio.gather(*map(converse, leases))
    assert not renewals.done(), "no renewal broke"
    renewals.cancel()
    await asyncio.wait([renewals])
    assert await balance(database, stranger.account_id) == 100 - 90 * Decimal("0.001")


async def take_over(database: Database, lease: Lease) -> None:
    async with database.raw() as connection:
        await connection.execute("UPDATE runs SET lease_token = $2 WHERE id = $1", lease.run_id, uuid4())


async def somebody_waits(database: Database) -> None:
    connection = await asyncpg.connect(database.dsn)

    async def waits() -> bool:
        found: int = await connection.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND wait_event_type = 'Lock'"
        )
        return found > 0

    try:
        await until(waits)
    finally:
        await connection.close()
