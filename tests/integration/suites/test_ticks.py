"""What ticks do to evaluations and schedules: against the database, with its clock, without conversations."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator
from decimal import Decimal

import pytest
from pydantic import SecretStr

from parley.engine.state import State
from parley.server.config import RedisSettings
from parley.server.journal.keep import Lease
from parley.server.kit.ids import new_id
from parley.server.notifications.teller import Teller
from parley.server.runs.finish import finish
from parley.server.suites.tick import SuiteTick
from parley.server.wiring import open_services
from parley.server.worker.reactions import Reactions
from tests.factories.ended_runs import ENDS
from tests.integration.suites.scene import (
    URL,
    begin,
    key_of,
    make_suite,
    make_tests,
    results,
    runs,
    tick_of,
)
from tests.stage import Stage


@pytest.fixture
def tick(stage: Stage) -> SuiteTick:
    """A tick that ticks when it is told to, and looks at what waits at every one."""
    return tick_of(stage.services)


def reactions_of(stage: Stage) -> Reactions:
    return Reactions(stage.services.database, Teller(sends_mail=False), 0.05)


@contextlib.asynccontextmanager
async def rival_ticks(stage: Stage, count: int) -> AsyncIterator[list[SuiteTick]]:
    """Ticks of as many processes."""
    async with contextlib.AsyncExitStack() as opened:
        services = [await opened.enter_async_context(open_services(stage.settings)) for _ in range(count)]
        yield [tick_of(one) for one in services]


async def end(stage: Stage, letter: str, count: int = 100, cost: str = "0.01") -> None:
    """End up to `count` open runs in this way, the oldest first, each at this cost."""
    open_runs = await stage.rows("SELECT * FROM runs WHERE state = 'pending' ORDER BY id LIMIT $1", count)
    for run in open_runs:
        token = new_id()
        await stage.rows(
            "UPDATE runs SET state = 'running', lease_token = $1, cost = $2 WHERE id = $3",
            token,
            Decimal(cost),
            run["id"],
        )
        lease = Lease(account_id=run["account_id"], run_id=run["id"], token=token, seconds=30)
        await finish(stage.services.database, lease, State(), ENDS[letter])
    await reactions_of(stage).once()


async def state_of(stage: Stage, evaluation_id: str) -> str:
    [row] = await stage.rows(
        "SELECT state FROM evaluations WHERE id = $1", key_of(stage, evaluation_id).evaluation_id
    )
    state: str = row["state"]
    return state


async def test_never_more_are_open_than_asked_for(stage: Stage, tick: SuiteTick) -> None:
    suite = await make_suite(stage, await make_tests(stage, "a", "b", "c"))
    evaluation_id = await begin(stage, suite, concurrency=2, repetitions=2)
    for begun, ends in ((2, 1), (3, 2), (5, 1), (6, 0)):
        await tick.once()
        made = await runs(stage)
        assert len(made) == begun
        assert sum(run["state"] == "pending" for run in made) == 2
        await end(stage, "s", ends)
    assert await state_of(stage, evaluation_id) == "scoring"
    await end(stage, "s")
    assert await state_of(stage, evaluation_id) == "completed"
    await tick.once()
    assert await stage.rows("SELECT * FROM suite_progress") == []


async def test_every_case_is_begun_once_before_any_is_begun_again(stage: Stage, tick: SuiteTick) -> None:
    tests = await make_tests(stage, "a", "b", "c")
    await begin(stage, await make_suite(stage, tests), repetitions=2, concurrency=10)
    await tick.once()
    assert [str(run["test_id"]) for run in await runs(stage)] == tests * 2


async def test_racing_ticks_start_one_run_for_each_place(stage: Stage) -> None:
    suite = await make_suite(stage, await make_tests(stage, "a", "b", "c", "d"))
    evaluation_id = await begin(stage, suite, repetitions=3, concurrency=50)
    async with rival_ticks(stage, 4) as ticks:
        for _ in range(3):
            await asyncio.gather(*(one.once() for one in ticks))
    assert len(await runs(stage)) == 12
    found = await results(stage, evaluation_id)
    assert len({(one["case_id"], one["repetition"]) for one in found}) == 12
    assert len({one["run_id"] for one in found}) == 12
    assert len(await stage.rows("SELECT * FROM quota_units")) == 12


async def test_racing_reactions_keep_each_end_once(stage: Stage, tick: SuiteTick) -> None:
    suite = await make_suite(stage, await make_tests(stage, "a", "b"))
    evaluation_id = await begin(stage, suite, repetitions=3, concurrency=50)
    await tick.once()
    reactions = [reactions_of(stage) for _ in range(4)]
    ending = asyncio.create_task(end(stage, "s"))
    while not ending.done():
        await asyncio.gather(*(one.once() for one in reactions))
    await ending
    await asyncio.gather(*(one.once() for one in reactions))
    [row] = await stage.rows("SELECT state, cost FROM evaluations")
    assert (row["state"], row["cost"]) == ("completed", Decimal("0.06"))
    assert {one["status"] for one in await results(stage, evaluation_id)} == {"rated"}


async def test_plan_of_five_a_minute_waits_and_goes_on(stage: Stage, tick: SuiteTick) -> None:
    await stage.rows("UPDATE accounts SET plan = 'free'")
    suite = await make_suite(stage, await make_tests(stage, "a", "b"))
    evaluation_id = await begin(stage, suite, repetitions=4, concurrency=50)
    await tick.once()
    await tick.once()
    assert len(await runs(stage)) == 5
    [progress] = await stage.rows("SELECT looked_at_from - now() AS wait FROM suite_progress")
    assert 30 < progress["wait"].total_seconds() <= 61
    assert await state_of(stage, evaluation_id) == "in_progress"
    await stage.rows("UPDATE quota_units SET spent_at = spent_at - interval '61 seconds'")
    await stage.rows("UPDATE suite_progress SET looked_at_from = now()")
    await tick.once()
    assert len(await runs(stage)) == 8
    await end(stage, "s")
    assert await state_of(stage, evaluation_id) == "completed"


async def test_cancel_is_seen_while_quota_is_waited_for(stage: Stage, tick: SuiteTick) -> None:
    await stage.rows("UPDATE accounts SET plan = 'free'")
    suite = await make_suite(stage, await make_tests(stage, "a", "b"))
    evaluation_id = await begin(stage, suite, repetitions=4)
    await tick.once()
    await stage.http.post(f"/api/v1/evaluations/{evaluation_id}/cancel")
    await tick.once()
    assert {run["state"] for run in await runs(stage)} == {"cancelled"}
    await reactions_of(stage).once()
    assert {one["error"]["type"] for one in await results(stage, evaluation_id)} == {"cancelled"}


async def test_budget_counts_what_runs_have_cost_so_far(stage: Stage, tick: SuiteTick) -> None:
    suite = await make_suite(stage, await make_tests(stage, "a", "b", "c", "d"))
    evaluation_id = await begin(stage, suite, concurrency=2, budget_usd=0.02)
    await tick.once()
    await stage.rows("UPDATE runs SET cost = 0.0099")
    await end(stage, "s", 1, cost="0.01")
    await tick.once()
    assert len(await runs(stage)) == 3
    await stage.rows("UPDATE runs SET cost = 0.006 WHERE state = 'pending'")
    await tick.once()
    assert await state_of(stage, evaluation_id) == "scoring"
    await end(stage, "l", cost="0.01")
    assert await state_of(stage, evaluation_id) == "completed"
    found = await results(stage, evaluation_id)
    assert [one["status"] for one in found] == ["rated", "rated", "rated", "skipped"]
    assert found[3]["error"]["type"] == "budget_spent"
    assert await stage.rows("SELECT * FROM runs WHERE state = 'cancelled'") == []


@pytest.mark.parametrize(
    ("letter", "told"),
    [("f", ("failed", 0, "gateway_inference")), ("c", ("skipped", None, "cancelled"))],
)
async def test_ends_without_a_verdict_are_told_apart(
    letter: str, told: tuple[str, float | None, str], stage: Stage, tick: SuiteTick
) -> None:
    evaluation_id = await begin(stage, await make_suite(stage, await make_tests(stage, "a")))
    await tick.once()
    await end(stage, letter)
    [found] = await results(stage, evaluation_id)
    assert (found["status"], found["rating"], found["error"]["type"]) == told


async def test_deleted_test_is_skipped_and_the_others_go_on(stage: Stage, tick: SuiteTick) -> None:
    tests = await make_tests(stage, "a", "b", "c")
    evaluation_id = await begin(stage, await make_suite(stage, tests), concurrency=1)
    await tick.once()
    for test in tests[:2]:
        await stage.http.delete(f"/api/v1/agentic-tests/{test}")
    await reactions_of(stage).once()
    await tick.once()
    await end(stage, "s")
    found = await results(stage, evaluation_id)
    assert [one["status"] for one in found] == ["skipped", "skipped", "rated"]
    assert [one["error"]["type"] for one in found[:2]] == ["cancelled", "test_deleted"]
    assert await state_of(stage, evaluation_id) == "completed"


async def test_empty_balance_skips_what_is_left(stage: Stage, tick: SuiteTick) -> None:
    evaluation_id = await begin(
        stage, await make_suite(stage, await make_tests(stage, "a", "b")), concurrency=1
    )
    await tick.once()
    await stage.rows("UPDATE accounts SET balance = 0")
    await end(stage, "s")
    await tick.once()
    found = await results(stage, evaluation_id)
    assert [one["status"] for one in found] == ["rated", "skipped"]
    assert found[1]["error"]["type"] == "balance_exhausted"
    assert await state_of(stage, evaluation_id) == "completed"


async def test_cases_stay_as_they_were_frozen(stage: Stage, tick: SuiteTick) -> None:
    tests = await make_tests(stage, "a", "b")
    await begin(stage, await make_suite(stage, tests), concurrency=1)
    await stage.http.patch(f"/api/v1/agentic-tests/{tests[0]}", json={"goal": "Something else"})
    await tick.once()
    [run] = await runs(stage)
    assert run["definition"]["fields"]["goal"] == "a"


async def test_seeds_follow_from_the_evaluations_seed(stage: Stage, tick: SuiteTick) -> None:
    suite = await make_suite(stage, await make_tests(stage, "a", seed=5))
    for _ in range(2):
        await begin(stage, suite, repetitions=2, seed=99)
    await tick.once()
    seeds = [run["seed"] for run in await runs(stage)]
    assert len(seeds) == 4
    assert len(set(seeds)) == 2


async def test_broken_step_holds_up_nobody_else(stage: Stage, tick: SuiteTick) -> None:
    broken = await begin(stage, await make_suite(stage, await make_tests(stage, "a")))
    await stage.rows(
        "UPDATE evaluation_cases SET content = '{}' WHERE evaluation_id = $1",
        key_of(stage, broken).evaluation_id,
    )
    sound = await begin(stage, await make_suite(stage, await make_tests(stage, "b")))
    await tick.once()
    assert len(await results(stage, sound)) == 1
    assert await results(stage, broken) == []
    assert (
        len(await stage.rows("SELECT FROM suite_progress WHERE looked_at_from > now() + interval '5 s'")) == 1
    )


async def test_goes_on_with_redis_gone(stage: Stage) -> None:
    evaluation_id = await begin(stage, await make_suite(stage, await make_tests(stage, "a", "b")))
    gone = RedisSettings(url=SecretStr("redis://127.0.0.1:1/0"), timeout_s=0.5)
    async with open_services(dataclasses.replace(stage.settings, redis=gone)) as services:
        await tick_of(services).once()
    assert len(await results(stage, evaluation_id)) == 2


# Schedules


async def make_due(stage: Stage) -> None:
    await stage.rows("UPDATE suites SET next_run_at = now() - interval '90 seconds'")


async def test_due_suite_is_begun_once_however_many_look(stage: Stage) -> None:
    tests = await make_tests(stage, "a")
    defaults = {"repetitions": 2, "concurrency": 1}
    suite = await make_suite(stage, tests, cron="7 * * * *", defaults=defaults)
    await make_due(stage)
    async with rival_ticks(stage, 4) as ticks:
        await asyncio.gather(*(one.once() for one in ticks))
    [made] = await stage.rows("SELECT * FROM evaluations")
    assert (made["run_source"], made["repetitions"]) == ("schedule", 2)
    assert len(await runs(stage)) == 1
    told = await stage.read(f"{URL}/{suite}")
    assert told["next_run_at"][14:16] == "07"
    assert told["last_skip"] is None


async def test_due_time_is_left_out_while_the_last_one_is_open(stage: Stage, tick: SuiteTick) -> None:
    suite = await make_suite(stage, await make_tests(stage, "a"), cron="7 * * * *")
    await begin(stage, suite)
    for _ in range(2):
        await make_due(stage)
        await tick.once()
    assert len(await stage.rows("SELECT * FROM evaluations WHERE run_source = 'schedule'")) == 1
    assert (await stage.read(f"{URL}/{suite}"))["last_skip"]["reason"] == "previous_evaluation_open"
    await end(stage, "s")
    await make_due(stage)
    await tick.once()
    assert len(await stage.rows("SELECT * FROM evaluations WHERE run_source = 'schedule'")) == 2


@pytest.mark.parametrize(
    ("reason", "change"),
    [
        ("balance_exhausted", "UPDATE accounts SET balance = 0"),
        ("account_suspended", "UPDATE accounts SET status = 'suspended'"),
        ("invalid_request", "UPDATE agentic_tests SET deleted_at = now()"),
        ("schedule_refused", "UPDATE suites SET cron = '* * * * *'"),
        ("internal_error", "UPDATE suites SET content = '{}'"),
    ],
)
async def test_refused_start_is_recorded(reason: str, change: str, stage: Stage, tick: SuiteTick) -> None:
    await make_suite(stage, await make_tests(stage, "a"), cron="7 * * * *")
    await stage.rows(change)
    await make_due(stage)
    await tick.once()
    assert await stage.rows("SELECT * FROM evaluations") == []
    [row] = await stage.rows("SELECT *, next_run_at > now() AS is_ahead FROM suites")
    assert row["last_skip_reason"] == reason
    assert row["is_ahead"] is (None if reason == "schedule_refused" else True)


async def test_rested_and_deleted_suites_are_not_due(stage: Stage, tick: SuiteTick) -> None:
    tests = await make_tests(stage, "a")
    rested = await make_suite(stage, tests, cron="7 * * * *")
    deleted = await make_suite(stage, tests, cron="7 * * * *")
    await stage.http.patch(f"{URL}/{rested}", json={"enabled": False})
    await stage.http.delete(f"{URL}/{deleted}")
    assert await stage.rows("SELECT * FROM suites WHERE next_run_at IS NOT NULL") == []
    await tick.once()
    assert await stage.rows("SELECT * FROM evaluations") == []
