"""Slots: order within an account, turns between accounts, and one account's backlog that delays nobody."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import asyncpg
import pytest

from parley.server.db.database import Database
from parley.server.kit.ids import new_id
from parley.server.runs.admit import admit_next, admit_waiting
from parley.server.runs.claim import due
from tests.factories.accounts import Tenant, make_tenant
from tests.factories.agentic_tests import make_agentic_test, make_gateway


async def rows(database: Database, statement: str, *values: Any) -> list[asyncpg.Record]:
    async with database.raw() as connection:
        return await connection.fetch(statement, *values)


async def with_test(database: Database, name: str, plan: str) -> tuple[Tenant, UUID]:
    """An account on a plan, and a test of it."""
    tenant = await make_tenant(database, name, plan=plan)
    gateway = await make_gateway(database, tenant.scope)
    return tenant, await make_agentic_test(database, tenant.scope, gateway.slug)


async def pending(
    database: Database, tenant: Tenant, test_id: UUID, count: int, admitted_s_ago: float | None = None
) -> list[UUID]:
    """Runs that wait for a slot, or hold one since some seconds and wait for a worker."""
    ids = [new_id() for _ in range(count)]
    await rows(
        database,
        "INSERT INTO runs (account_id, id, test_id, trigger, revision, seed, definition, admitted_at)"
        " SELECT $1, id, $2, 'manual', 'r', 1, '{}', now() - make_interval(secs => $4)"
        " FROM unnest($3::uuid[]) AS id",
        tenant.account_id,
        test_id,
        ids,
        admitted_s_ago,
    )
    return ids


@pytest.mark.parametrize(("plan", "slots"), [("free", 1), ("pro", 4), ("max", 8)])
async def test_oldest_runs_get_as_many_slots_as_the_plan_has(
    database: Database, plan: str, slots: int
) -> None:
    tenant, test_id = await with_test(database, "A", plan)
    ids = await pending(database, tenant, test_id, 10)
    assert await admit_next(database, tenant.account_id) == ids[:slots]
    assert await admit_next(database, tenant.account_id) == []
    await rows(database, "UPDATE runs SET state = 'cancelled' WHERE id = $1", ids[0])
    assert await admit_next(database, tenant.account_id) == ids[slots : slots + 1]


async def test_plan_that_was_lowered_admits_nobody_until_it_fits(database: Database) -> None:
    tenant, test_id = await with_test(database, "A", "max")
    ids = await pending(database, tenant, test_id, 10)
    await admit_next(database, tenant.account_id)
    await rows(database, "UPDATE accounts SET plan = 'free'")
    await rows(database, "UPDATE runs SET state = 'cancelled' WHERE id = ANY($1::uuid[])", ids[:7])
    assert await admit_next(database, tenant.account_id) == []
    await rows(database, "UPDATE runs SET state = 'cancelled' WHERE id = $1", ids[7])
    assert await admit_next(database, tenant.account_id) == ids[8:9]


async def test_larger_plan_is_filled_by_the_sweep(database: Database) -> None:
    tenant, test_id = await with_test(database, "A", "free")
    ids = await pending(database, tenant, test_id, 10)
    await admit_next(database, tenant.account_id)
    await rows(database, "UPDATE accounts SET plan = 'pro'")
    assert await admit_waiting(database) == ids[1:4]


async def test_sweep_finds_the_few_runs_of_an_account_behind_anothers_ten_thousand(
    database: Database,
) -> None:
    hog, hogs_test = await with_test(database, "Hog", "max")
    other, others_test = await with_test(database, "Other", "free")
    await pending(database, hog, hogs_test, 10_000)
    assert len(await admit_waiting(database)) == 8
    waiting = await pending(database, other, others_test, 2)
    assert await admit_waiting(database, limit=1) == waiting[:1], "the full account takes no place"
    assert await due(database, 100, -1) != []
    found = await due(database, 2, -1)
    assert waiting[0] in found, "the full account takes one of the first two turns"


async def test_backlog_is_not_read_to_find_what_holds_slots(database: Database) -> None:
    hog, hogs_test = await with_test(database, "Hog", "max")
    await pending(database, hog, hogs_test, 10_000)
    await admit_waiting(database)
    await rows(database, "ANALYZE runs")
    held = "state IN ('pending', 'running') AND admitted_at IS NOT NULL"
    plan = await rows(
        database, f"EXPLAIN SELECT count(*) FROM runs WHERE account_id = $1 AND {held}", hog.account_id
    )
    assert "ix_runs_slots" in str(plan)
    plan = await rows(
        database,
        "EXPLAIN SELECT account_id FROM runs WHERE state = 'pending' AND admitted_at IS NULL"
        " AND account_id > $1 ORDER BY account_id LIMIT 1",
        hog.account_id,
    )
    assert "ix_runs_waiting" in str(plan)


async def test_accounts_take_turns_for_a_worker(database: Database) -> None:
    many, manys_test = await with_test(database, "Many", "max")
    few, fews_test = await with_test(database, "Few", "pro")
    first = await pending(database, many, manys_test, 8, admitted_s_ago=60)
    later = await pending(database, few, fews_test, 2, admitted_s_ago=30)
    assert await due(database, 6, 5) == [first[0], later[0], first[1], later[1], first[2], first[3]]


async def test_run_of_a_lost_worker_waits_since_its_lease_ended(database: Database) -> None:
    tenant, test_id = await with_test(database, "A", "max")
    waiting = await pending(database, tenant, test_id, 1, admitted_s_ago=20)
    [lost] = await pending(database, tenant, test_id, 1, admitted_s_ago=60)
    held = await pending(database, tenant, test_id, 1, admitted_s_ago=90)
    lease = "UPDATE runs SET state = 'running', lease_until = now() + make_interval(secs => $2) WHERE id = $1"
    await rows(database, lease, lost, -30.0)
    await rows(database, lease, held[0], 30.0)
    assert await due(database, 10, 5) == [lost, waiting[0]]
