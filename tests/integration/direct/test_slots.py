"""Slots of direct evaluations: as many as the plan's runs at once, leased, and never lost for long."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from parley.server.billing.audit import audit_books
from parley.server.direct.slots import close_lapsed
from parley.server.kit.ids import new_id
from parley.server.llm.demo import Hang, Rule, Say, opinion
from tests.event_order import assert_one_end
from tests.stage import DIRECT, GOAL, Reading, Stage, until

PLAIN: dict[str, Any] = {"seed": 7, "max_turns": 2, "profile": "low"}
SUCCESS = Rule((opinion(0.95),), part="judge")
HANGING = Rule((Hang(30),), part="assistant")


async def on_plan(stage: Stage, plan: str) -> None:
    await stage.rows("UPDATE accounts SET plan = $1", plan)


async def open_calls(stage: Stage) -> list[dict[str, Any]]:
    return await stage.rows("SELECT * FROM direct_calls WHERE state = 'running'")


async def ask(stage: Stage) -> httpx.Response:
    return await stage.http.post(DIRECT, json={"model": stage.gateway["slug"], "goal": GOAL, **PLAIN})


@contextlib.asynccontextmanager
async def talking(stage: Stage) -> AsyncIterator[tuple[Reading, AsyncIterator[bytes]]]:
    """An evaluation that is under way."""
    async with stage.evaluating(**PLAIN) as (reading, chunks):
        reading.raw += await anext(chunks)
        yield reading, chunks


async def test_caller_without_a_slot_is_refused_and_spends_nothing(stage: Stage) -> None:
    stage.play(HANGING)
    await on_plan(stage, "free")
    async with talking(stage):
        answer = await ask(stage)
        assert (answer.status_code, answer.json()["code"]) == (429, "concurrency_exhausted")
        assert answer.json()["details"] == {"limit": 1}
        assert int(answer.headers["retry-after"]) > 0
        assert len(await stage.rows("SELECT id FROM quota_units")) == 1
        assert len(await stage.rows("SELECT id FROM direct_calls")) == 1
    await until(lambda: none_open(stage))
    stage.play(SUCCESS)
    assert (await ask(stage)).status_code == 200, "the slot came back with the end"


async def none_open(stage: Stage) -> bool:
    return not await open_calls(stage)


async def test_parallel_callers_get_exactly_the_slots_there_are(stage: Stage) -> None:
    stage.play(HANGING)
    await on_plan(stage, "pro")

    async def held() -> int:
        async with stage.evaluating(**PLAIN) as (reading, chunks):
            if reading.status == 200:
                await anext(chunks)
                began.append(reading)
                await enough.wait()
            else:
                refused.append(reading)
                if len(refused) == 8:
                    enough.set()
            return reading.status

    began: list[Reading] = []
    refused: list[Reading] = []
    enough = asyncio.Event()
    async with asyncio.timeout(15):
        statuses = await asyncio.gather(*(held() for _ in range(12)))
    assert sorted(statuses) == [200] * 4 + [429] * 8
    assert len(await stage.rows("SELECT id FROM quota_units")) == 4


async def test_runs_and_direct_evaluations_have_slots_of_their_own(stage: Stage) -> None:
    stage.play(HANGING)
    await on_plan(stage, "free")
    test_id = await stage.make_test(**PLAIN)
    async with talking(stage):
        await stage.start(test_id)
        limits = await stage.read("/api/v1/limits")
        assert limits["concurrent_runs"] == {"limit": 1, "in_use": 1, "waiting": 0}
        assert limits["concurrent_direct"] == {"limit": 1, "in_use": 1}


async def test_lease_is_renewed_while_the_evaluation_is_open(stage: Stage) -> None:
    stage.play(HANGING)
    async with talking(stage):
        [before] = await open_calls(stage)

        async def is_renewed() -> bool:
            [now] = await open_calls(stage)
            renewed: bool = now["lease_until"] > before["lease_until"]
            return renewed

        await until(is_renewed)


async def test_slot_of_a_lost_process_is_freed_by_the_others(stage: Stage) -> None:
    stage.play(SUCCESS)
    await on_plan(stage, "free")
    await stage.rows(
        "INSERT INTO direct_calls (account_id, id, lease_until) VALUES ($1, $2, now() - interval '1 hour')",
        stage.tenant.account_id,
        new_id(),
    )
    await until(lambda: none_open(stage))
    [call] = await stage.rows("SELECT state, error_code, finished_at FROM direct_calls")
    assert (call["state"], call["error_code"]) == ("ended", "worker_lost")
    assert call["finished_at"] is not None
    assert (await ask(stage)).status_code == 200


async def test_evaluation_that_lost_its_slot_ends_and_is_charged(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley.server.direct.evaluate.DirectEvaluations._beat", _nothing)
    stage.play(Rule((Say("Yes, within thirty days, for sure.", gap_ms=50),), part="assistant"))
    async with talking(stage) as (reading, chunks):
        await stage.rows("UPDATE direct_calls SET lease_until = now() - interval '1 hour'")
        await close_lapsed(stage.services.database, 1)
        async for chunk in chunks:
            reading.raw += chunk
    assert_one_end(reading.frames)
    assert reading.frames[-1].data["code"] == "shutdown"
    turns = [frame for frame in reading.frames if frame.type == "chat.start"]
    assert len(turns) == 1, "a begun turn is finished, another one is not begun"

    async def is_charged() -> bool:
        return len(await stage.rows("SELECT 1 FROM ledger WHERE source = 'direct'")) == 3

    await until(is_charged)
    [call] = await stage.rows("SELECT state, error_code, cost FROM direct_calls")
    assert (call["state"], call["error_code"]) == ("ended", "worker_lost")
    assert call["cost"] > 0
    async with stage.services.database.session() as session:
        assert await audit_books(session) == []


async def _nothing(_: object) -> None:
    """No beat."""


async def test_heartbeat_ends_an_evaluation_whose_slot_was_closed(stage: Stage) -> None:
    stage.play(HANGING)
    async with talking(stage) as (reading, chunks), asyncio.timeout(10):
        await stage.rows("UPDATE direct_calls SET state = 'ended'")
        async for chunk in chunks:
            reading.raw += chunk
    assert reading.frames[-1].data["code"] == "shutdown"
