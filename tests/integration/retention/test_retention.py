"""What goes and what stays, under load, faults and company."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parley.server.agentic_tests import service
from parley.server.config import Settings
from parley.server.db.database import Database, PoolOptions
from parley.server.db.tables import Table
from parley.server.errors import DatabaseAway, InvalidRequest, NotFound
from parley.server.kit.ids import new_id
from parley.server.retention import repository
from parley.server.retention.overrides import override_of, set_override
from parley.server.retention.policy import DELETED_GRACE, ENDED_STATES, QUOTA_UNITS_KEPT, RetentionRules
from parley.server.retention.preview import preview
from parley.server.retention.tick import PAGE, Retention
from tests.factories.accounts import Tenant, make_tenant
from tests.factories.agentic_tests import cancel_nothing
from tests.integration.retention.history import (
    count_of,
    execute,
    make_direct_calls,
    make_notifications,
    make_outbox_rows,
    make_quota_units,
    make_runs,
    make_test,
    run_ids,
)
from tests.stage import Stage, until

RULES = RetentionRules(
    executed=timedelta(days=30),
    cancelled=timedelta(days=1),
    accounting=timedelta(days=90),
    notifications=timedelta(days=30),
)
LARGE = 20_000
BATCH = 50
KILL_AT_WORK = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
 WHERE application_name = 'parley-victim' AND datname = current_database()
   AND state = 'active' AND query LIKE '%DELETE FROM runs%'
"""


def retention_of(database: Database, batch_size: int = 200) -> Retention:
    return Retention(database, RULES, batch_size, tick_s=0.01)


async def delete_test(database: Database, tenant: Tenant, test_id: UUID, minutes_ago: int = 0) -> None:
    """Delete a test as its owner does; then let time pass."""
    async with database.session() as session:
        await service.delete(session, tenant.scope, cancel_nothing, test_id)
    await execute(
        database,
        "UPDATE agentic_tests SET deleted_at = deleted_at - make_interval(mins => $2) WHERE id = $1",
        test_id,
        minutes_ago,
    )


@pytest.fixture
async def hurried(settings: Settings) -> AsyncIterator[Database]:
    """A database whose statements have half a second."""
    url = settings.database.url.get_secret_value()
    opened = Database(url, PoolOptions(size=2, statement_timeout_s=0.5))
    yield opened
    await opened.close()


@asynccontextmanager
async def slow_removals(database: Database, table: str, *, seconds: float) -> AsyncIterator[None]:
    """Let the removal of each row of a table take so long."""
    await execute(
        database,
        "CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN PERFORM pg_sleep({seconds}); RETURN OLD; END $$",
    )
    await execute(
        database, f"CREATE TRIGGER be_slow BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION be_slow()"
    )
    try:
        yield
    finally:
        await execute(database, f"DROP TRIGGER be_slow ON {table}; DROP FUNCTION be_slow")


@pytest.mark.parametrize(
    ("state", "days_ago", "stays"),
    [
        ("succeeded", 29.9, True),
        ("succeeded", 30.1, False),
        ("failed", 29.9, True),
        ("failed", 30.1, False),
        ("cancelled", 0.9, True),
        ("cancelled", 1.1, False),
        ("pending", 4_000, True),
        ("running", 4_000, True),
    ],
)
async def test_a_run_stays_its_time_from_its_end(
    database: Database, tenant: Tenant, state: str, days_ago: float, stays: bool
) -> None:
    test_id = await make_test(database, tenant.scope)
    made = await make_runs(database, tenant.scope, test_id, state=state, days_ago=days_ago)
    done = await retention_of(database).once()
    assert await run_ids(database) == (set(made) if stays else set())
    assert done.removed["runs"] == (0 if stays else 1)
    assert done.faults == 0


async def test_children_go_with_their_runs_and_the_ledger_stays(database: Database, tenant: Tenant) -> None:
    test_id = await make_test(database, tenant.scope)
    before = await count_of(database, "ledger")
    await make_runs(database, tenant.scope, test_id, count=5, entries=7)
    (kept,) = await make_runs(database, tenant.scope, test_id, days_ago=1, entries=3)
    await retention_of(database).once()
    assert await run_ids(database) == {kept}
    assert await count_of(database, "entries", "hook_credentials") == [3, 1]
    assert await count_of(database, "ledger") == [before[0] + 6]


def test_everything_that_hangs_on_a_run_or_test_goes_with_it_and_is_found_by_an_index() -> None:
    """Holds for tables that are added later: else a batch breaks on them, or reads them whole.

    Runs do not go with their test on purpose: they go before it, in batches.
    """
    seen = set()
    for table in Table.metadata.sorted_tables:
        for key in table.foreign_key_constraints:
            if key.referred_table.name not in ("runs", "agentic_tests"):
                continue
            seen.add(table.name)
            columns = [column.name for column in key.columns]
            leading = [[c.name for c in table.primary_key.columns][: len(columns)]]
            leading += [[c.name for c in index.columns][: len(columns)] for index in table.indexes]
            assert columns in leading, f"{table.name}: no index begins with {columns}"
            if table.name != "runs":
                assert key.ondelete == "CASCADE", f"{table.name} keeps {key.referred_table.name} from going"
    assert {"runs", "entries", "hook_credentials"} <= seen


async def test_large_history_goes_in_small_commits_within_the_statement_timeout(
    database: Database, hurried: Database, tenant: Tenant
) -> None:
    """C179: removing all of it at once would time out, and nothing would ever go."""
    test_id = await make_test(database, tenant.scope)
    await make_runs(database, tenant.scope, test_id, count=LARGE)
    young = await make_runs(database, tenant.scope, test_id, days_ago=1, count=10)
    await execute(database, "CREATE SEQUENCE batches_done")
    await execute(
        database,
        "CREATE FUNCTION count_batch() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM nextval('batches_done'); RETURN NULL; END $$",
    )
    await execute(
        database,
        "CREATE TRIGGER count_batch AFTER DELETE ON runs FOR EACH STATEMENT EXECUTE FUNCTION count_batch()",
    )
    try:
        done = await retention_of(hurried, batch_size=500).once()
        async with database.raw() as connection:
            statements = await connection.fetchval("SELECT last_value FROM batches_done")
    finally:
        await execute(database, "DROP TRIGGER count_batch ON runs")
        await execute(database, "DROP FUNCTION count_batch")
        await execute(database, "DROP SEQUENCE batches_done")
    assert done.faults == 0
    assert done.removed["runs"] == LARGE
    assert await run_ids(database) == set(young)
    assert await count_of(database, "entries") == [20]
    assert statements >= LARGE / 500


async def test_heavy_runs_are_removed_in_smaller_batches_rather_than_never(
    database: Database, hurried: Database, tenant: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    """C179: here even a batch runs into the timeout."""
    test_id = await make_test(database, tenant.scope)
    await make_runs(database, tenant.scope, test_id, count=60, entries=1)
    async with slow_removals(database, "entries", seconds=0.02):
        with caplog.at_level(logging.WARNING):
            done = await retention_of(hurried, batch_size=60).once()
    assert "60 rows took too long" in caplog.text
    assert (done.removed["runs"], done.faults) == (60, 0)
    assert await run_ids(database) == set()


async def test_a_row_that_is_too_heavy_by_itself_does_not_keep_the_others(
    database: Database, hurried: Database, tenant: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    await make_runs(database, tenant.scope, await make_test(database, tenant.scope), entries=1)
    await make_notifications(database, tenant.scope, 3, days_ago=31)
    async with slow_removals(database, "entries", seconds=3):
        done = await retention_of(hurried).once()
    assert (done.removed["runs"], done.removed["notifications"], done.faults) == (0, 3, 1)
    assert "some runs could not be removed" in caplog.text


async def test_a_pass_that_was_killed_is_gone_on_with(
    database: Database, settings: Settings, tenant: Tenant
) -> None:
    """C179: what was committed stays committed; the rest goes next time, half a run never."""
    test_id = await make_test(database, tenant.scope)
    await make_runs(database, tenant.scope, test_id, count=300, entries=3)
    options = PoolOptions(application_name="parley-victim")
    victim = Database(settings.database.url.get_secret_value(), options)

    async def kill_amid_a_batch() -> bool:
        """Only once some batches are committed, and while another one is at work."""
        (left,) = await count_of(database, "runs")
        async with database.raw() as connection:
            return left < 280 and bool(await connection.fetchval(KILL_AT_WORK))

    async with slow_removals(database, "entries", seconds=0.002):
        passing = asyncio.create_task(retention_of(victim, batch_size=5).once())
        await until(kill_amid_a_batch)
        with pytest.raises(DatabaseAway):
            await passing
    await victim.close()
    runs, entries, credentials = await count_of(database, "runs", "entries", "hook_credentials")
    assert 0 < runs < 280
    assert (entries, credentials) == (3 * runs, runs)
    done = await retention_of(database).once()
    assert done.removed["runs"] == runs
    assert await count_of(database, "runs", "entries", "hook_credentials") == [0, 0, 0]


async def test_two_workers_share_the_work_and_remove_each_run_once(
    database: Database, hurried: Database, tenant: Tenant, stranger: Tenant
) -> None:
    for owner in (tenant, stranger):
        test_id = await make_test(database, owner.scope)
        await make_runs(database, owner.scope, test_id, count=3_000, entries=1)
    workers = [retention_of(one, batch_size=50) for one in (database, hurried)]
    done = await asyncio.gather(*(worker.once() for worker in workers))
    assert [one.faults for one in done] == [0, 0]
    assert sum(one.removed["runs"] for one in done) == 6_000
    assert all(one.removed["runs"] > 0 for one in done)
    assert await count_of(database, "runs", "entries") == [0, 0]


async def test_a_run_that_somebody_holds_is_left_for_the_next_pass(
    database: Database, hurried: Database, tenant: Tenant
) -> None:
    test_id = await make_test(database, tenant.scope)
    held, _ = await make_runs(database, tenant.scope, test_id, count=2)
    async with database.raw() as connection, connection.transaction():
        await connection.execute("SELECT FROM runs WHERE id = $1 FOR KEY SHARE", held)
        done = await retention_of(hurried).once()
        assert (done.removed["runs"], done.faults) == (1, 0)
    assert await run_ids(database) == {held}
    assert (await retention_of(hurried).once()).removed["runs"] == 1


async def test_runs_of_a_deleted_test_go_and_then_the_test(
    database: Database, tenant: Tenant, stranger: Tenant
) -> None:
    gone, kept = [await make_test(database, tenant.scope) for _ in range(2)]
    foreign = await make_test(database, stranger.scope)
    await make_runs(database, tenant.scope, gone, days_ago=0.1, count=450)
    others = await make_runs(database, tenant.scope, kept, days_ago=0.1, count=3)
    others += await make_runs(database, stranger.scope, foreign, days_ago=0.1, count=3)
    await delete_test(database, tenant, gone, minutes_ago=15)
    done = await retention_of(database).once()
    assert (done.removed["runs"], done.removed["tests"]) == (450, 1)
    assert await run_ids(database) == set(others)
    async with database.raw() as connection:
        left = {row["id"] for row in await connection.fetch("SELECT id FROM agentic_tests")}
    assert left == {kept, foreign}


async def test_a_deleted_test_waits_for_its_open_runs_and_for_who_watches_them(
    database: Database, tenant: Tenant
) -> None:
    test_id = await make_test(database, tenant.scope)
    (open_run,) = await make_runs(database, tenant.scope, test_id, state="running")
    (just_ended,) = await make_runs(database, tenant.scope, test_id, state="cancelled", days_ago=0)
    await delete_test(database, tenant, test_id, minutes_ago=60)
    await retention_of(database).once()
    assert await run_ids(database) == {open_run, just_ended}
    await execute(
        database, "UPDATE runs SET state = 'cancelled', finished_at = now() - interval '11 minutes'"
    )
    done = await retention_of(database).once()
    assert (done.removed["runs"], done.removed["tests"]) == (2, 1)


async def test_a_test_without_runs_goes_once_its_deletion_is_a_while_ago(
    database: Database, tenant: Tenant
) -> None:
    old, young = [await make_test(database, tenant.scope) for _ in range(2)]
    await delete_test(database, tenant, old, minutes_ago=11)
    await delete_test(database, tenant, young, minutes_ago=9)
    assert (await retention_of(database).once()).removed["tests"] == 1
    async with database.raw() as connection:
        assert await connection.fetchval("SELECT id FROM agentic_tests") == young


async def test_runs_of_an_evaluation_stay_and_keep_their_deleted_test(
    database: Database, tenant: Tenant
) -> None:
    test_id = await make_test(database, tenant.scope)
    kept = await make_runs(database, tenant.scope, test_id, days_ago=400, count=3, trigger="suite")
    await make_runs(database, tenant.scope, test_id, days_ago=0.1, count=2)
    await delete_test(database, tenant, test_id, minutes_ago=60)
    done = await retention_of(database).once()
    assert await run_ids(database) == set(kept)
    assert (done.removed["runs"], done.removed["tests"], done.faults) == (2, 0, 0)


async def test_an_override_holds_for_its_account_alone(
    database: Database, tenant: Tenant, stranger: Tenant
) -> None:
    strict = await make_tenant(database, "Strict")
    made: dict[Tenant, dict[int, UUID]] = {}
    for owner in (tenant, stranger, strict):
        test_id = await make_test(database, owner.scope)
        made[owner] = {
            days: (await make_runs(database, owner.scope, test_id, days_ago=days))[0] for days in (3, 40, 400)
        }
    async with database.session() as session:
        await set_override(session, tenant.account_id, 365)
        await set_override(session, strict.account_id, 2)
    await retention_of(database).once()
    assert await run_ids(database) == {made[tenant][3], made[tenant][40], made[stranger][3]}


async def test_an_override_is_changed_and_taken_back(database: Database, tenant: Tenant) -> None:
    for days in (365, 7, None, None):
        async with database.session() as session:
            await set_override(session, tenant.account_id, days)
            assert await override_of(session, tenant.account_id) == days
    assert await count_of(database, "retention_overrides") == [0]


@pytest.mark.parametrize("days", [0, -1, 36_501])
async def test_days_out_of_bounds_are_refused(database: Database, tenant: Tenant, days: int) -> None:
    with pytest.raises(InvalidRequest, match="days"):
        async with database.session() as session:
            await set_override(session, tenant.account_id, days)


@pytest.mark.parametrize("days", [30, None])
async def test_an_override_for_nobody_is_refused(database: Database, days: int | None) -> None:
    with pytest.raises(NotFound):
        async with database.session() as session:
            await set_override(session, new_id(), days)


async def test_small_rows_go_when_nobody_needs_them(database: Database, tenant: Tenant) -> None:
    await make_direct_calls(database, tenant.scope, 250, days_ago=91)
    await make_direct_calls(database, tenant.scope, 4, days_ago=89)
    await make_direct_calls(database, tenant.scope, 2, days_ago=200, state="running")
    await make_quota_units(database, tenant.scope, 250, seconds_ago=3_700)
    await make_quota_units(database, tenant.scope, 5, seconds_ago=50)
    for key, hours in (("old", 25), ("young", 23)):
        await execute(
            database,
            "INSERT INTO idempotency_keys VALUES ($1, 'r', $2, '', $1, now() - make_interval(hours => $3))",
            tenant.account_id,
            key,
            hours,
        )
        await execute(
            database,
            "INSERT INTO grades (account_id, id, key_id, judge, state, asked_at, created_at) "
            "SELECT $1, gen_random_uuid(), $1, 'parley/low', 'failed', at, at "
            "  FROM (SELECT now() - make_interval(hours => $2 + 1) AS at) AS asked",
            tenant.account_id,
            hours,
        )
    await make_notifications(database, tenant.scope, 250, days_ago=31)
    await make_notifications(database, tenant.scope, 3, days_ago=29)
    await make_notifications(database, tenant.scope, 2, days_ago=31, state="pending")
    await make_outbox_rows(database, tenant.scope, 250, days_ago=31)
    await make_outbox_rows(database, tenant.scope, 7, days_ago=29)
    done = await retention_of(database).once()
    assert done.removed == {
        "direct evaluations": 250,
        "quota units": 250,
        "grades": 1,
        "idempotency keys": 1,
        "notifications": 250,
        "unanswered ends": 250,
        "runs": 0,
    }
    tables = ("direct_calls", "quota_units", "idempotency_keys", "grades")
    assert await count_of(database, *tables) == [6, 5, 1, 1]
    assert await count_of(database, "notifications", "deliveries", "outbox") == [5, 10, 7]


async def test_what_operators_did_stays(database: Database, tenant: Tenant) -> None:
    await execute(
        database,
        "INSERT INTO operator_acts (id, act, via, account_id, details, at) "
        "SELECT gen_random_uuid(), 'account.suspend', 'api', $1, '{}', now() - interval '30 years'",
        tenant.account_id,
    )
    await retention_of(database).once()
    assert await count_of(database, "operator_acts") == [1]


async def test_every_page_of_accounts_and_deleted_tests_has_its_turn(database: Database) -> None:
    await execute(
        database,
        "INSERT INTO accounts (id, name, plan) SELECT gen_random_uuid(), 'many', 'free' "
        "FROM generate_series(1, $1::int)",
        2 * PAGE + 1,
    )
    await execute(
        database,
        "INSERT INTO direct_calls (account_id, id, state, finished_at) "
        "SELECT id, gen_random_uuid(), 'ended', now() - interval '91 days' FROM accounts",
    )
    await execute(
        database,
        "INSERT INTO agentic_tests (account_id, id, name, fields, deleted_at) SELECT id, gen_random_uuid(), "
        "'gone', '{}', now() - interval '1 hour' FROM accounts",
    )
    accounts = (await count_of(database, "accounts"))[0]
    done = await retention_of(database).once()
    assert (done.removed["direct evaluations"], done.removed["tests"]) == (accounts, accounts)
    assert await count_of(database, "direct_calls", "agentic_tests") == [0, 0]


async def test_what_breaks_on_one_kind_does_not_keep_the_others(
    database: Database, tenant: Tenant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    test_id = await make_test(database, tenant.scope)
    await make_runs(database, tenant.scope, test_id)
    await make_direct_calls(database, tenant.scope, 3, days_ago=91)
    monkeypatch.setattr(
        repository, "REMOVE_RUNS", "SELECT 1/0, $1::uuid[], $2::text[], $3::timestamptz[], $4::int"
    )
    done = await retention_of(database).once()
    assert (done.removed["direct evaluations"], done.faults) == (3, 1)
    assert "some runs could not be removed" in caplog.text


async def test_the_tick_passes_at_once_and_outlives_a_database_that_is_away(
    database: Database, tenant: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    async def is_empty() -> bool:
        return not await run_ids(database)

    async def has_failed_twice() -> bool:
        return caplog.text.count("retention: the database is away") >= 2

    await make_runs(database, tenant.scope, await make_test(database, tenant.scope))
    nowhere = Database("postgresql://postgres@127.0.0.1:9/nowhere", PoolOptions(connect_timeout_s=0.2))
    ticks = [asyncio.create_task(retention_of(one).run()) for one in (database, nowhere)]
    try:
        await until(is_empty)
        await until(has_failed_twice)
        assert not any(tick.done() for tick in ticks)
    finally:
        for tick in ticks:
            tick.cancel()
        await asyncio.gather(*ticks, return_exceptions=True)
        await nowhere.close()


async def test_a_worker_removes_what_is_old(stage: Stage) -> None:
    test_id = UUID(await stage.make_test())
    scope, database = stage.tenant.scope, stage.services.database
    await make_runs(database, scope, test_id)
    young = await make_runs(database, scope, test_id, days_ago=1)

    async def is_done() -> bool:
        return await run_ids(database) == set(young)

    async with stage.worker():
        await until(is_done)


async def test_a_preview_counts_what_a_pass_removes_and_changes_nothing(
    database: Database, tenant: Tenant, stranger: Tenant
) -> None:
    gone, kept = [await make_test(database, tenant.scope) for _ in range(2)]
    for state, count in (("succeeded", 3), ("failed", 2), ("cancelled", 1)):
        await make_runs(database, tenant.scope, kept, state=state, count=count)
    await make_runs(database, tenant.scope, gone, count=5, days_ago=45)
    await make_runs(database, tenant.scope, gone, count=7, days_ago=0.5, state="failed")
    await make_runs(database, tenant.scope, gone, count=1, days_ago=400, trigger="suite")
    await make_runs(database, tenant.scope, kept, count=9, days_ago=2)
    await make_direct_calls(database, tenant.scope, 4, days_ago=91)
    await make_notifications(database, tenant.scope, 3, days_ago=31)
    await make_notifications(database, tenant.scope, 1, days_ago=31, state="pending")
    await make_outbox_rows(database, tenant.scope, 5, days_ago=31)
    await make_quota_units(database, tenant.scope, 6, seconds_ago=4_000)
    await execute(
        database,
        "INSERT INTO idempotency_keys SELECT $1, 'r', n::text, '', $1, now() - n * interval '20 hours' "
        "FROM generate_series(1, 3) AS n",
        tenant.account_id,
    )
    await delete_test(database, tenant, gone, minutes_ago=30)
    await make_runs(database, stranger.scope, await make_test(database, stranger.scope), days_ago=2)
    tables = ["runs", "entries", "direct_calls", "agentic_tests", "notifications", "outbox"]
    tables += ["quota_units", "idempotency_keys"]
    before = await count_of(database, *tables)

    (account,) = [found async for found in preview(database, RULES)]

    assert account.account_id == tenant.account_id
    assert account.aged == {"succeeded": 8, "failed": 2, "cancelled": 1}
    assert account.orphaned == 7
    assert account.other == {
        "direct evaluations": 4,
        "notifications": 3,
        "unanswered ends": 5,
        "quota units": 6,
        "idempotency keys": 2,
    }
    assert await count_of(database, *tables) == before
    done = await retention_of(database).once()
    assert done.removed["runs"] == sum(account.aged.values()) + account.orphaned
    assert account.other == {kind: done.removed[kind] for kind in account.other}
    assert [found async for found in preview(database, RULES)] == []


def nodes_of(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for child in plan.get("Plans", ()) for node in nodes_of(child))]


async def explained(database: Database, statement: str, *values: Any) -> list[dict[str, Any]]:
    """The plan as a worker gets it after many rounds: a generic one, and really carried out."""
    async with database.raw() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        found = await connection.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", *values)
        await transaction.rollback()
    return nodes_of(found[0]["Plan"])


@pytest.fixture
async def large_history(database: Database, tenant: Tenant) -> UUID:
    """Twenty thousand rows of each kind that stay, a hundred that go; a deleted test with as many runs."""
    test_id = await make_test(database, tenant.scope)
    await make_runs(database, tenant.scope, test_id, count=LARGE - 100, days_ago=0.1, entries=1)
    await make_runs(
        database, tenant.scope, test_id, count=LARGE // 2, days_ago=400, trigger="suite", entries=1
    )
    await make_runs(database, tenant.scope, test_id, count=100, days_ago=31, entries=1)
    await make_direct_calls(database, tenant.scope, LARGE, days_ago=1)
    await make_direct_calls(database, tenant.scope, 100, days_ago=91)
    await make_quota_units(database, tenant.scope, LARGE, seconds_ago=60)
    await make_quota_units(database, tenant.scope, 100, seconds_ago=4_000)
    await make_notifications(database, tenant.scope, LARGE, days_ago=1)
    await make_notifications(database, tenant.scope, 100, days_ago=31)
    await make_outbox_rows(database, tenant.scope, LARGE, days_ago=1)
    await make_outbox_rows(database, tenant.scope, 100, days_ago=31)
    deleted = await make_test(database, tenant.scope)
    await make_runs(database, tenant.scope, deleted, count=100, days_ago=0.1)
    await delete_test(database, tenant, deleted, minutes_ago=60)
    await execute(database, "ANALYZE")
    return deleted


async def test_batches_read_what_they_remove_however_long_the_history_is(
    database: Database, tenant: Tenant, large_history: UUID
) -> None:
    async with database.raw() as connection:
        thirty_days_ago = await connection.fetchval("SELECT now() - interval '30 days'")
    accounts, states = [tenant.account_id], list(ENDED_STATES)
    indexes: dict[str, tuple[str, tuple[Any, ...]]] = {
        "ix_runs_ended": (repository.REMOVE_RUNS, (accounts, ["succeeded"], [thirty_days_ago])),
        "ix_runs_test": (
            repository.REMOVE_RUNS_OF_TESTS,
            (accounts, [large_history], states, DELETED_GRACE),
        ),
        "ix_direct_calls_ended": (repository.REMOVE_DIRECT_CALLS, (accounts, RULES.accounting)),
        "ix_quota_units_window": (repository.REMOVE_QUOTA_UNITS, (accounts, QUOTA_UNITS_KEPT)),
        "ix_notifications_created_at": (repository.REMOVE_NOTIFICATIONS, (RULES.notifications,)),
        "ix_outbox_created_at": (repository.REMOVE_OUTBOX_ROWS, (RULES.unanswered,)),
    }
    for index, (statement, values) in indexes.items():
        nodes = await explained(database, statement, *values, BATCH)
        scans = [node for node in nodes if "Scan" in node["Node Type"] and "Relation Name" in node]
        assert index in [node.get("Index Name") for node in scans], scans
        for node in scans:
            read = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
            assert read * node["Actual Loops"] <= BATCH, node
        assert [node["Actual Rows"] for node in nodes if node["Node Type"] == "LockRows"] == [BATCH]


async def test_deleted_tests_are_found_among_many_that_live(database: Database, tenant: Tenant) -> None:
    await execute(
        database,
        "INSERT INTO agentic_tests (account_id, id, name, integrated_llm, fields, deleted_at) "
        "SELECT $1, gen_random_uuid(), 'T', '@acme/a', '{}', CASE WHEN n <= 3 THEN now() END "
        "FROM generate_series(1, $2::int) AS n",
        tenant.account_id,
        LARGE,
    )
    await execute(database, "ANALYZE agentic_tests")
    nodes = await explained(database, repository.DELETED_TESTS, UUID(int=0), UUID(int=0), PAGE)
    (scan,) = [node for node in nodes if "Relation Name" in node]
    assert scan["Index Name"] == "ix_agentic_tests_deleted"
    assert (scan["Actual Rows"], scan.get("Rows Removed by Filter", 0)) == (3, 0)
