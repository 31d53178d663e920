"""What becomes of tests that are due: against the database, with its clock."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from pydantic import SecretStr
from sqlalchemy import text

from parley.server.agentic_tests import due, service
from parley.server.agentic_tests.due import hold_due
from parley.server.config import RedisSettings, Settings
from parley.server.db.database import Database
from parley.server.errors import DatabaseAway, QuotaExhausted
from parley.server.runs.start import start
from parley.server.schedules import fire
from parley.server.schedules.fire import Starter
from parley.server.schedules.tick import MOST_TESTS, Scheduler
from parley.server.wiring import Services, open_services
from tests.factories.accounts import Tenant, make_tenant
from tests.factories.agentic_tests import INTEGRATED, make_agentic_test, make_gateway, offer
from tests.stage import Stage, until

HOURLY = "7 * * * *"


@pytest.fixture
def scheduler(services: Services) -> Scheduler:
    """A scheduler that ticks when it is told to."""
    return scheduler_of(services)


def scheduler_of(services: Services, integrated: tuple[str, ...] = (INTEGRATED,)) -> Scheduler:
    return Scheduler(services.database, Starter(offer(integrated=integrated), services.queue), 0.01)


async def rows(database: Database, statement: str, *values: Any) -> list[dict[str, Any]]:
    async with database.raw() as connection:
        return [dict(row) for row in await connection.fetch(statement, *values)]


async def make_due(database: Database, minutes_ago: float, *tests: UUID) -> datetime:
    """Make tests due at one time in the past, cut to the minute as due times are."""
    found = await rows(
        database,
        "UPDATE agentic_tests SET next_run_at = date_trunc('minute', now()) - make_interval(mins => $1), "
        "looked_at_from = date_trunc('minute', now()) - make_interval(mins => $1) "
        "WHERE id = ANY($2) RETURNING next_run_at",
        minutes_ago,
        list(tests),
    )
    due_at: datetime = found[0]["next_run_at"]
    return due_at


async def runs(database: Database) -> list[dict[str, Any]]:
    return await rows(
        database,
        "SELECT test_id, trigger, scheduled_for, state, seed, external_user_id FROM runs ORDER BY id",
    )


async def the_test(database: Database, test_id: UUID) -> dict[str, Any]:
    [row] = await rows(database, "SELECT *, now() AS now FROM agentic_tests WHERE id = $1", test_id)
    return row


async def scheduled(database: Database, tenant: Tenant, count: int = 1, **fields: Any) -> list[UUID]:
    gateway = await make_gateway(database, tenant.scope)
    body = {"cron": HOURLY} | fields
    return [await make_agentic_test(database, tenant.scope, gateway.slug, **body) for _ in range(count)]


def is_next_hourly(row: dict[str, Any]) -> bool:
    due: datetime = row["next_run_at"]
    return (
        due == row["looked_at_from"]
        and due.minute == 7
        and timedelta() < due - row["now"] <= timedelta(hours=1)
    )


# Firing


async def test_due_test_runs_once_and_is_due_again_at_its_next_time(
    database: Database, tenant: Tenant, scheduler: Scheduler
) -> None:
    [test_id] = await scheduled(database, tenant, seed=7, external_user_id="u-1")
    before = (await the_test(database, test_id))["updated_at"]
    due_at = await make_due(database, 0, test_id)
    await scheduler.once()
    await scheduler.once()
    [run] = await runs(database)
    assert (run["test_id"], run["trigger"], run["scheduled_for"]) == (test_id, "schedule", due_at)
    assert (run["state"], run["seed"], run["external_user_id"]) == ("pending", 7, "u-1")
    after = await the_test(database, test_id)
    assert is_next_hourly(after)
    assert (after["last_skip_due_at"], after["last_skip_reason"]) == (None, None)
    assert after["updated_at"] == before, "a tick is no change of the test"


async def test_nothing_fires_before_its_time(
    database: Database, tenant: Tenant, scheduler: Scheduler
) -> None:
    await scheduled(database, tenant)
    await scheduler.once()
    assert await runs(database) == []


@pytest.mark.parametrize("change", [{"enabled": False}, {"cron": None}])
async def test_disabled_and_unscheduled_tests_do_not_fire(
    database: Database, tenant: Tenant, scheduler: Scheduler, change: dict[str, Any]
) -> None:
    [test_id] = await scheduled(database, tenant)
    await make_due(database, 1, test_id)
    async with database.session() as session:
        await service.change(session, tenant.scope, offer(), test_id, change)
    await scheduler.once()
    assert await runs(database) == []
    row = await the_test(database, test_id)
    assert (row["next_run_at"], row["looked_at_from"]) == (None, None)


async def test_deleted_test_does_not_fire(services: Services, tenant: Tenant, scheduler: Scheduler) -> None:
    database = services.database
    [test_id] = await scheduled(database, tenant)
    await make_due(database, 1, test_id)
    async with database.session() as session:
        await service.delete(session, tenant.scope, services.canceller.cancel_open, test_id)
    await scheduler.once()
    assert await runs(database) == []


async def test_change_of_anything_else_leaves_an_overdue_test_due(
    database: Database, tenant: Tenant, scheduler: Scheduler
) -> None:
    [test_id] = await scheduled(database, tenant)
    due_at = await make_due(database, 1, test_id)
    async with database.session() as session:
        await service.change(session, tenant.scope, offer(), test_id, {"name": "Other", "cron": HOURLY})
    await scheduler.once()
    assert [run["scheduled_for"] for run in await runs(database)] == [due_at]


async def test_new_schedule_forgets_what_was_due(
    database: Database, tenant: Tenant, scheduler: Scheduler
) -> None:
    [test_id] = await scheduled(database, tenant)
    await make_due(database, 1, test_id)
    async with database.session() as session:
        await service.change(session, tenant.scope, offer(), test_id, {"cron": "8 * * * *"})
    await scheduler.once()
    assert await runs(database) == []
    assert (await the_test(database, test_id))["next_run_at"].minute == 8


# Downtime


async def test_downtime_is_made_up_for_by_one_run(
    database: Database, tenant: Tenant, scheduler: Scheduler, caplog: pytest.LogCaptureFixture
) -> None:
    """C143."""
    [test_id] = await scheduled(database, tenant, cron="*/5 * * * *")
    due_at = await make_due(database, 60 * 24, test_id)
    with caplog.at_level(logging.INFO):
        await scheduler.once()
        await scheduler.once()
    assert [run["scheduled_for"] for run in await runs(database)] == [due_at]
    row = await the_test(database, test_id)
    assert timedelta() < row["next_run_at"] - row["now"] <= timedelta(minutes=5)
    [told] = [record.getMessage() for record in caplog.records if "passed by" in record.getMessage()]
    assert f"account {tenant.account_id}: 288 due times" in told


# Many schedulers


async def test_schedulers_at_once_make_one_run_of_each_due_time(
    settings: Settings, database: Database, tenant: Tenant, stranger: Tenant
) -> None:
    """C145."""
    tests = await scheduled(database, tenant, 3 * MOST_TESTS) + await scheduled(database, stranger, 5)
    due_at = await make_due(database, 0, *tests)
    async with contextlib.AsyncExitStack() as opened:
        several = [await opened.enter_async_context(open_services(settings)) for _ in range(4)]
        for _ in range(3):  # what was held by another at the first look is met again
            await asyncio.gather(*(scheduler_of(services).once() for services in several))
    made = await runs(database)
    assert sorted(run["test_id"] for run in made) == sorted(tests)
    assert {run["scheduled_for"] for run in made} == {due_at}
    left = await rows(database, "SELECT count(*) FROM agentic_tests WHERE looked_at_from <= now()")
    assert left == [{"count": 0}]


async def test_scheduler_that_dies_leaves_its_tests_to_the_others(
    services: Services, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C147: there is no leader; rows are claimed in short transactions on the database's clock."""
    database = services.database
    tests = await scheduled(database, tenant, 4)
    await make_due(database, 0, *tests)
    reached, calls = asyncio.Event(), 0

    async def hangs_at_the_third(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            reached.set()
            await asyncio.Event().wait()
        return await start(*arguments)

    monkeypatch.setattr(fire, "start", hangs_at_the_third)
    dying = asyncio.create_task(scheduler_of(services).once())
    await reached.wait()
    await scheduler_of(services).once()
    assert await runs(database) == [], "what one holds, no other takes"
    dying.cancel()
    await asyncio.gather(dying, return_exceptions=True)
    monkeypatch.undo()
    await scheduler_of(services).once()
    assert sorted(run["test_id"] for run in await runs(database)) == sorted(tests)


async def test_due_time_that_has_its_run_never_gets_another(
    database: Database, tenant: Tenant, scheduler: Scheduler
) -> None:
    """As when the database's clock was set back."""
    [test_id] = await scheduled(database, tenant)
    await make_due(database, 0, test_id)
    await scheduler.once()
    await rows(database, "UPDATE runs SET state = 'succeeded'")
    await rows(
        database,
        "UPDATE agentic_tests SET next_run_at = scheduled_for, looked_at_from = scheduled_for FROM runs",
    )
    await scheduler.once()
    assert len(await runs(database)) == 1
    row = await the_test(database, test_id)
    assert is_next_hourly(row)
    assert row["last_skip_reason"] is None


# Skips


async def left_out(database: Database, scheduler: Scheduler, test_id: UUID) -> str:
    """Let it be due and left out; the recorded reason."""
    before = await runs(database)
    due_at = await make_due(database, 1, test_id)
    await scheduler.once()
    assert await runs(database) == before
    row = await the_test(database, test_id)
    assert row["last_skip_due_at"] == due_at
    assert row["next_run_at"] is None or is_next_hourly(row)
    reason: str = row["last_skip_reason"]
    return reason


@pytest.mark.parametrize("state", ["pending", "running"])
async def test_open_run_of_the_schedule_is_not_joined_by_a_second(
    database: Database, tenant: Tenant, scheduler: Scheduler, state: str
) -> None:
    """C149."""
    [test_id] = await scheduled(database, tenant)
    await make_due(database, 60, test_id)
    await scheduler.once()
    await rows(database, "UPDATE runs SET state = $1", state)
    assert await left_out(database, scheduler, test_id) == "previous_run_open"
    await rows(database, "UPDATE runs SET state = 'failed'")
    await make_due(database, 0, test_id)
    await scheduler.once()
    assert len(await runs(database)) == 2
    row = await the_test(database, test_id)
    assert row["last_skip_reason"] == "previous_run_open", "the last skip stays on record"


async def test_open_manual_run_does_not_hold_up_the_schedule(
    database: Database, tenant: Tenant, scheduler: Scheduler
) -> None:
    [test_id] = await scheduled(database, tenant)
    await make_due(database, 60, test_id)
    await scheduler.once()
    await rows(database, "UPDATE runs SET trigger = 'manual', scheduled_for = NULL")
    await make_due(database, 0, test_id)
    await scheduler.once()
    assert [run["trigger"] for run in await runs(database)] == ["manual", "schedule"]


async def test_account_without_balance_is_left_out(database: Database, scheduler: Scheduler) -> None:
    poor = await make_tenant(database, credit=Decimal(0))
    await rows(database, "UPDATE accounts SET balance = 0")
    [test_id] = await scheduled(database, poor)
    assert await left_out(database, scheduler, test_id) == "balance_exhausted"


async def test_suspended_account_is_left_out(
    database: Database, tenant: Tenant, scheduler: Scheduler
) -> None:
    [test_id] = await scheduled(database, tenant)
    await rows(database, "UPDATE accounts SET status = 'suspended'")
    assert await left_out(database, scheduler, test_id) == "account_suspended"


async def test_test_whose_llm_was_withdrawn_is_left_out(services: Services, tenant: Tenant) -> None:
    database = services.database
    test_id = await make_agentic_test(database, tenant.scope, INTEGRATED, cron=HOURLY)
    assert await left_out(database, scheduler_of(services, integrated=()), test_id) == "gateway_gone"


async def test_broken_start_is_left_out_and_the_others_run(
    database: Database,
    tenant: Tenant,
    scheduler: Scheduler,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken, sound = await scheduled(database, tenant, 2)
    await make_due(database, 0, broken, sound)

    async def started(session: Any, scope: Any, new: Any, queue: Any) -> Any:
        if new.test_id == broken:
            await start(session, scope, new, queue)
            await start(session, scope, new, queue)  # the key of the run is taken: the database refuses
        return await start(session, scope, new, queue)

    monkeypatch.setattr(fire, "start", started)
    await scheduler.once()
    assert [run["test_id"] for run in await runs(database)] == [sound]
    row = await the_test(database, broken)
    assert row["last_skip_reason"] == "internal_error"
    assert is_next_hourly(row)
    assert f"the scheduled start of test {broken} broke" in caplog.text


@pytest.mark.parametrize("stored", ["0 0 30 2 *", "nonsense", "* * * * *", "", "@hourly"])
async def test_broken_stored_pattern_is_stopped_and_the_others_run(
    database: Database,
    tenant: Tenant,
    scheduler: Scheduler,
    caplog: pytest.LogCaptureFixture,
    stored: str,
) -> None:
    """C136."""
    broken, sound = await scheduled(database, tenant, 2)
    await rows(database, "UPDATE agentic_tests SET cron = $1 WHERE id = $2", stored, broken)
    due_at = await make_due(database, 1, broken, sound)
    await scheduler.once()
    assert [run["test_id"] for run in await runs(database)] == [sound]
    row = await the_test(database, broken)
    assert (row["next_run_at"], row["looked_at_from"]) == (None, None)
    assert (row["last_skip_due_at"], row["last_skip_reason"]) == (due_at, "schedule_refused")
    assert f"schedule of test {broken} is stopped" in caplog.text
    async with database.session() as session:
        assert (await service.describe(session, tenant.scope, offer(), broken)).upcoming == []
        await service.change(session, tenant.scope, offer(), broken, {"cron": HOURLY})
    assert is_next_hourly(await the_test(database, broken)), "its save mends it"


async def test_failure_in_one_account_does_not_keep_others_waiting(
    database: Database,
    tenant: Tenant,
    stranger: Tenant,
    scheduler: Scheduler,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [broken], [sound] = await scheduled(database, tenant), await scheduled(database, stranger)
    await make_due(database, 0, broken, sound)

    async def held(session: Any, scope: Any, limit: int) -> Any:
        if scope == tenant.scope:
            raise RuntimeError("no")
        return await hold_due(session, scope, limit)

    monkeypatch.setattr(fire, "hold_due", held)
    await scheduler.once()
    assert [run["test_id"] for run in await runs(database)] == [sound]


# Quota


async def test_test_without_quota_stays_due_and_fires_once_later(
    database: Database, tenant: Tenant, scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = await scheduled(database, tenant, 3)
    due_at = await make_due(database, 61, *tests)
    units = 1

    async def started(*arguments: Any) -> Any:
        nonlocal units
        run = await start(*arguments)  # what a refused start has done is taken back
        if units == 0:
            raise QuotaExhausted(retry_after_s=40)
        units -= 1
        return run

    monkeypatch.setattr(fire, "start", started)
    await scheduler.once()
    assert len(await runs(database)) == 1
    waiting = await rows(
        database, "SELECT *, now() AS now FROM agentic_tests WHERE next_run_at <= now() ORDER BY id"
    )
    assert len(waiting) == 2
    for row in waiting:
        assert row["next_run_at"] == due_at
        assert timedelta(seconds=30) < row["looked_at_from"] - row["now"] <= timedelta(seconds=40)
        assert row["last_skip_reason"] is None
    await scheduler.once()
    assert len(await runs(database)) == 1, "nobody looks before there is quota"
    units = 9
    await rows(database, "UPDATE agentic_tests SET looked_at_from = now() WHERE looked_at_from > next_run_at")
    await scheduler.once()
    await scheduler.once()
    made = await runs(database)
    assert sorted(run["test_id"] for run in made) == sorted(tests)
    assert {run["scheduled_for"] for run in made} == {due_at}


async def test_plan_of_five_a_minute_starts_five_and_keeps_two_due(
    database: Database, scheduler: Scheduler
) -> None:
    free = await make_tenant(database, plan="free")
    tests = await scheduled(database, free, 7)
    due_at = await make_due(database, 0, *tests)
    await scheduler.once()
    assert len(await runs(database)) == 5
    units = await rows(database, "SELECT count(*) FROM quota_units")
    assert units == [{"count": 5}], "a refused start spends nothing"
    await rows(database, "UPDATE quota_units SET spent_at = spent_at - interval '61 s'")
    await rows(database, "UPDATE agentic_tests SET looked_at_from = now() WHERE looked_at_from > next_run_at")
    await scheduler.once()
    made = await runs(database)
    assert sorted(run["test_id"] for run in made) == sorted(tests)
    assert {run["scheduled_for"] for run in made} == {due_at}


async def test_account_without_quota_keeps_no_other_waiting(
    database: Database,
    tenant: Tenant,
    stranger: Tenant,
    scheduler: Scheduler,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = await scheduled(database, tenant, 2 * MOST_TESTS)
    [sound] = await scheduled(database, stranger)
    await make_due(database, 5, *many)
    await make_due(database, 0, sound)
    refusals = 0

    async def started(session: Any, scope: Any, new: Any, queue: Any) -> Any:
        nonlocal refusals
        if scope == tenant.scope:
            refusals += 1
            raise QuotaExhausted
        return await start(session, scope, new, queue)

    monkeypatch.setattr(fire, "start", started)
    await scheduler.once()
    assert [run["test_id"] for run in await runs(database)] == [sound]
    assert refusals == 1, "one refusal puts off the whole account"


async def test_overdue_test_tells_its_due_time_and_those_after_now(
    database: Database, tenant: Tenant
) -> None:
    [test_id] = await scheduled(database, tenant)
    due_at = await make_due(database, 60 * 5, test_id)
    async with database.session() as session:
        found: Sequence[datetime] = (await service.describe(session, tenant.scope, offer(), test_id)).upcoming
    now = (await the_test(database, test_id))["now"]
    assert found[0] == due_at
    assert timedelta() < found[1] - now <= timedelta(hours=1)
    assert found[2] - found[1] == timedelta(hours=1)


# Size


@pytest.mark.slow
async def test_looking_for_due_tests_reads_the_index_of_due_tests(database: Database, tenant: Tenant) -> None:
    """However many tests there are, a tick reads those that are due."""
    [test_id] = await scheduled(database, tenant)
    await rows(
        database,
        "INSERT INTO agentic_tests "
        "(account_id, id, name, gateway_id, fields, cron, next_run_at, looked_at_from) "
        "SELECT account_id, gen_random_uuid(), name, gateway_id, fields, cron, later, later "
        "FROM agentic_tests, generate_series(1, 20000) AS n, "
        "LATERAL (SELECT now() + make_interval(mins => n) AS later) AS times WHERE id = $1",
        test_id,
    )
    await make_due(database, 0, test_id)
    await rows(database, "ANALYZE agentic_tests")
    for statement in (due._ACCOUNTS, due._HOLD_DUE):
        async with database.session() as session:
            explained = await session.execute(
                text(f"EXPLAIN {statement.text}"), {"account_id": tenant.account_id, "limit": 10}
            )
            plan = "\n".join(explained.scalars())
        assert "ix_agentic_tests_due" in plan
        assert "Seq Scan on agentic_tests" not in plan


# Away


async def test_redis_away_starts_runs_all_the_same(
    settings: Settings, database: Database, tenant: Tenant
) -> None:
    [test_id] = await scheduled(database, tenant)
    await make_due(database, 0, test_id)
    gone = RedisSettings(url=SecretStr("redis://127.0.0.1:1/0"), timeout_s=0.5)
    async with open_services(dataclasses.replace(settings, redis=gone)) as services:
        await scheduler_of(services).once()
    [run] = await runs(database)
    assert run["test_id"] == test_id
    assert is_next_hourly(await the_test(database, test_id))


async def test_tick_goes_on_after_a_failure(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    faults = [DatabaseAway(), RuntimeError("once")]
    again = asyncio.Event()

    async def once() -> None:
        if faults:
            raise faults.pop()
        again.set()

    monkeypatch.setattr(scheduler, "once", once)
    ticking = asyncio.create_task(scheduler.run())
    async with asyncio.timeout(10):
        await again.wait()
    ticking.cancel()
    await asyncio.gather(ticking, return_exceptions=True)
    assert "tried again at the next tick" in caplog.text
    assert "the database is away" in caplog.text


async def test_worker_starts_what_is_due_and_carries_it_out(stage: Stage) -> None:
    test_id = UUID(await stage.make_test(cron=HOURLY, max_turns=2))
    await make_due(stage.services.database, 0, test_id)
    async with stage.worker(), stage.worker():
        await until(lambda: stage.rows("SELECT id FROM runs WHERE state = 'succeeded'"))
    [run] = await runs(stage.services.database)
    assert (run["test_id"], run["trigger"]) == (test_id, "schedule")
