"""Slots: how many runs of one account go on at once, and who comes next."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import update

from parley.server.db.tables.accounts import Account
from parley.server.llm.demo import Hang, Rule, Say, opinion
from tests.factories.accounts import make_tenant
from tests.stage import Stage, client_of, make_gateway, until

PLAIN: dict[str, Any] = {"seed": 7, "max_turns": 2, "profile": "low"}
SUCCESS = Rule((opinion(0.95),), part="judge")


@pytest.fixture
async def stage(stage: Stage) -> Stage:
    """The stage of an account that runs one at a time."""
    async with stage.services.database.session() as session:
        await session.execute(update(Account).values(plan="free"))
    return stage


async def states(stage: Stage) -> list[str]:
    """Of all runs, in the order they were started; a pending one with a slot is `admitted`."""
    rows = await stage.rows(
        "SELECT CASE WHEN state = 'pending' AND admitted_at IS NOT NULL THEN 'admitted' ELSE state END AS at"
        " FROM runs ORDER BY id"
    )
    return [row["at"] for row in rows]


async def test_runs_go_one_after_another_in_their_order(stage: Stage) -> None:
    stage.play(SUCCESS)
    stage.llms.configure(gap_ms=2)
    test_id = await stage.make_test(**PLAIN)
    paths = [await stage.start(test_id) for _ in range(4)]
    assert await states(stage) == ["admitted", "pending", "pending", "pending"]
    async with stage.worker() as worker:
        most = 0
        watchers = [asyncio.create_task(stage.finished(path)) for path in paths]
        while not all(watcher.done() for watcher in watchers):
            most = max(most, worker.held)
            await asyncio.sleep(0.005)
        runs = [watcher.result() for watcher in watchers]
    assert most == 1, "a run that waits holds no worker"
    assert stage.llms.stats.max_open == 1
    assert [run["state"] for run in runs] == ["succeeded"] * 4
    for before, after in pairwise(runs):
        assert before["finished_at"] <= after["started_at"]


async def test_parallel_starts_are_admitted_up_to_the_limit_exactly(stage: Stage) -> None:
    async with stage.services.database.session() as session:
        await session.execute(update(Account).values(plan="pro"))
    test_id = await stage.make_test(**PLAIN)
    await asyncio.gather(*(stage.start(test_id) for _ in range(12)))
    assert sorted(await states(stage)) == ["admitted"] * 4 + ["pending"] * 8


async def test_cancelled_run_makes_room_at_once(stage: Stage) -> None:
    test_id = await stage.make_test(**PLAIN)
    first, second, third = [await stage.start(test_id) for _ in range(3)]
    await stage.http.post(f"{second}/cancel")
    assert await states(stage) == ["admitted", "cancelled", "pending"]
    await stage.http.post(f"{first}/cancel")
    assert await states(stage) == ["cancelled", "cancelled", "admitted"]
    stage.play(SUCCESS)
    async with stage.worker():
        assert (await stage.finished(third))["state"] == "succeeded"


async def test_end_of_a_running_run_by_cancellation_admits_the_next(stage: Stage) -> None:
    stage.play(Rule((Hang(2), Say("Hi.")), part="assistant"), SUCCESS)
    test_id = await stage.make_test(**PLAIN)
    first, second = [await stage.start(test_id) for _ in range(2)]
    async with stage.worker():
        await until(lambda: stage.llms.stats.by_llm.get("assistant"))
        await stage.http.post(f"{first}/cancel")
        assert (await stage.finished(second))["state"] == "succeeded"


async def test_full_queue_of_one_account_leaves_others_alone(stage: Stage) -> None:
    """C164"""
    stage.play(Rule((Hang(2),), part="assistant", contains="", llm="assistant"), SUCCESS)
    test_id = await stage.make_test(**PLAIN)
    for _ in range(5):
        await stage.start(test_id)
    other = await make_tenant(stage.services.database, "Other", plan="free")
    async with client_of(stage.url, other.auth) as client, stage.worker() as worker:
        await until(lambda: worker.held == 1)
        gateway = await make_gateway(client, stage.llms, model="other-assistant")
        body = {"name": "T", "gateway": gateway["slug"], "goal": "x", **PLAIN}
        test = (await client.post("/api/v1/agentic-tests", json=body)).json()["data"]
        run = (await client.post(f"/api/v1/agentic-tests/{test['id']}/runs")).json()["data"]
        path = f"/api/v1/agentic-tests/{test['id']}/runs/{run['id']}"
        async with stage.watching(path, client=client) as (reading, chunks), asyncio.timeout(10):
            async for chunk in chunks:
                reading.raw += chunk
        assert reading.frames[-1].data["outcome"] == "success"


async def test_admission_that_was_lost_is_made_up_by_the_sweep(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker that ended the first run died before it admitted the next."""

    async def dies(*_: object) -> list[object]:
        return []

    monkeypatch.setattr("parley.server.worker.main.admit_next", dies)
    monkeypatch.setattr("parley.server.runs.sweep.QUEUE_PATIENCE_S", 0.2)
    stage.play(SUCCESS)
    test_id = await stage.make_test(**PLAIN)
    paths = [await stage.start(test_id) for _ in range(2)]
    async with stage.worker():
        runs = [await stage.finished(path) for path in paths]
    assert [run["state"] for run in runs] == ["succeeded"] * 2
