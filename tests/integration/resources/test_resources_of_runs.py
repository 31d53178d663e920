"""Remote resources through the API, a real worker and a real server."""

from __future__ import annotations

import asyncio
import dataclasses
import gzip
from typing import Any
from unittest.mock import AsyncMock
from uuid import UUID

import pytest

from parley.server.config import Settings
from parley.server.conversation.hooks import HookMaker
from parley.server.errors import DatabaseAway
from parley.server.llm.demo import Hang, Rule
from tests.receivers import (
    Play,
    Receiver,
    bombs,
    drips,
    floods,
    hangs_up,
    hangs_up_early,
    says,
    waits,
)
from tests.stage import Stage, told, until

FIELDS: dict[str, Any] = {"seed": 7, "max_turns": 2, "profile": "low"}
CANARY = "RESOURCE-CANARY: boots may be sent back within 30 days."


def remote(*urls: str) -> list[dict[str, str]]:
    return [{"type": "RemoteResource", "data": url} for url in urls]


def hasty(stage: Stage) -> Settings:
    """Settings of a worker whose fetches have half a second."""
    outbound = stage.settings.outbound.model_copy(update={"resource_timeout_s": 0.5})
    return dataclasses.replace(stage.settings, outbound=outbound)


def prompts_with(stage: Stage, text: str) -> dict[str, int]:
    """How many requests to each llm hold `text`."""
    counts: dict[str, int] = {}
    for request in stage.llms.requests:
        counts[request.llm] = counts.get(request.llm, 0) + (text.encode() in request.raw)
    return counts


async def run_with(stage: Stage, resources: list[dict[str, str]], **fields: Any) -> dict[str, Any]:
    async with stage.worker():
        test_id = await stage.make_test(resources=resources, **FIELDS | fields)
        return await stage.finished(await stage.start(test_id))


async def test_text_is_fetched_once_and_told_to_user_and_judge_alone(
    stage: Stage, receiver: Receiver
) -> None:
    url = receiver.on("/policy", says(200, CANARY.encode(), "text/markdown; charset=utf-8"))
    resources = [{"type": "Text", "data": "Shop hours: 9 to 5."}, *remote(url, url)]
    run = await run_with(stage, resources)
    assert run["state"] == "succeeded"
    [call] = receiver.calls
    assert (call.method, call.body) == ("GET", b"")
    assert not {"authorization", "cookie", "x-request-nonce"} & set(call.headers)
    assert run["definition"]["resource_texts"] == ["Shop hours: 9 to 5.", CANARY, CANARY]
    assert prompts_with(stage, CANARY) == {"user": 2, "assistant": 0, "judge": 2}


async def test_resources_come_before_the_first_hook(stage: Stage, receiver: Receiver) -> None:
    receiver.on("/policy", says(200, CANARY.encode()))
    hooks = [{"event": "before-test", "url": receiver.url("/hook")}]
    await run_with(stage, remote(receiver.url("/policy")), hooks=hooks)
    assert [call.path for call in receiver.calls] == ["/policy", "/hook"]


async def test_each_run_fetches_anew_and_keeps_its_own_text(stage: Stage, receiver: Receiver) -> None:
    """C127"""
    url = receiver.on("/policy", says(200, b"first"))
    test_id = await stage.make_test(resources=remote(url), **FIELDS)
    async with stage.worker():
        first = await stage.start(test_id)
        await stage.finished(first)
        receiver.on("/policy", says(200, b"second"))
        second = await stage.start(test_id)
        await stage.finished(second)
    kept = [(await stage.read(path))["definition"]["resource_texts"] for path in (first, second)]
    assert kept == [["first"], ["second"]]


UNUSABLE: dict[str, tuple[Play, str]] = {
    "pdf": (says(200, b"%PDF-1.7", "application/pdf"), "type application/pdf"),
    "image": (says(200, b"\x89PNG", "image/png"), "type image/png"),
    "no-type": (says(200, b"text", ""), "did not say what type"),
    "binary-as-text": (says(200, b"MZ\x00\x01"), "not text"),
    "blank": (says(200, " \n\N{ZERO WIDTH SPACE}".encode()), "no text"),
    "empty": (says(204, b""), "no text"),
    "missing": (says(404), "status 404"),
    "redirect": (says(301, b"", Location="/elsewhere"), "status 301: redirects are not followed"),
    "flood": (floods(), "larger than 200000 bytes"),
    "bomb": (bombs(), "larger than 200000 bytes"),
    "cut-gzip": (says(200, gzip.compress(b"text" * 99)[:-9], Content_Encoding="gzip"), "broken"),
    "brotli": (says(200, b"text", Content_Encoding="br"), "encoding"),
    "silence": (waits, "0.5 seconds"),
    "drip": (drips, "0.5 seconds"),
    "hang-up": (hangs_up, "connection"),
    "cut-body": (hangs_up_early, "connection"),
}


@pytest.mark.parametrize("name", UNUSABLE)
async def test_unusable_resource_fails_the_run_before_turn_1(
    stage: Stage, receiver: Receiver, name: str
) -> None:
    """C128: nothing is said, no hook called, nothing charged; the customer is told which and why."""
    play, problem = UNUSABLE[name]
    good, bad = receiver.on("/good", says(200, b"fine")), receiver.on("/bad", play)
    hooks = [{"event": "before-test", "url": receiver.url("/hook")}]
    async with stage.worker(hasty(stage) if "seconds" in problem else None):
        path = await stage.start(await stage.make_test(resources=remote(good, bad), hooks=hooks, **FIELDS))
        frames = await stage.events(path)
    run = await stage.read(path)
    assert (run["state"], run["outcome"], run["cost"]) == ("failed", None, 0)
    error = run["error"]
    assert (error["code"], error["turn"]) == ("resource_unavailable", 0)
    assert error["message"].startswith("resources.1: ")
    assert problem in error["message"]
    assert [(f.type, f.data["code"], f.data["will_retry"]) for f in frames] == [
        ("unhandled_error", "resource_unavailable", False)
    ]
    assert not {"/hook", "/elsewhere"} & {call.path for call in receiver.calls}
    assert stage.llms.stats.requests == 0
    assert await stage.rows("SELECT 1 AS one FROM ledger WHERE source = 'run'") == []


async def test_blocked_resource_reads_like_an_unknown_name(stage: Stage, receiver: Receiver) -> None:
    """C127, C129: the same guard, on every fetch."""
    messages = set()
    async with stage.worker():
        for url in (receiver.url("/x", "127.0.0.2"), "http://169.254.169.254/", "http://[::1]:8080/"):
            path = await stage.start(await stage.make_test(resources=remote(url), **FIELDS))
            messages.add((await stage.finished(path))["error"]["message"])
    assert len(messages) == 1
    assert receiver.connections == 0


@pytest.mark.parametrize("leaves", ["kill", "stop"])
async def test_takeover_does_not_fetch_again(stage: Stage, receiver: Receiver, leaves: str) -> None:
    url = receiver.on("/policy", says(200, CANARY.encode()))
    stage.play(Rule((Hang(2),), part="user", turn=1, times=1))
    path = await stage.start(await stage.make_test(resources=remote(url), **FIELDS))
    async with stage.worker() as first:
        await until(lambda: stage.llms.stats.requests)
        await getattr(first, leaves)()
    receiver.on("/policy", says(200, b"something else"))
    async with stage.worker():
        run = await stage.finished(path)
    assert run["state"] == "succeeded"
    assert len(receiver.calls) == 1
    assert run["definition"]["resource_texts"] == [CANARY]
    assert prompts_with(stage, "something else") == {"user": 0, "assistant": 0, "judge": 0}


async def test_database_that_goes_away_after_the_fetch_costs_no_second_one(
    stage: Stage, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = receiver.on("/policy", says(200, CANARY.encode()))
    make, away = HookMaker.make, [DatabaseAway(), DatabaseAway()]

    async def make_later(*given: Any) -> Any:
        if away:
            raise away.pop()
        return await make(*given)

    monkeypatch.setattr(HookMaker, "make", make_later)
    run = await run_with(stage, remote(url))
    assert (run["state"], len(receiver.calls), away) == ("succeeded", 1, [])


async def test_worker_that_stops_while_fetching_hands_over_at_once(stage: Stage, receiver: Receiver) -> None:
    url = receiver.on("/policy", waits)
    path = await stage.start(await stage.make_test(resources=remote(url), **FIELDS))
    async with stage.worker() as first:
        await until(lambda: receiver.calls)
        await first.stop()
    [row] = await stage.rows("SELECT state, lease_token, last_seq FROM runs")
    assert row == {"state": "running", "lease_token": None, "last_seq": 0}
    receiver.on("/policy", says(200, CANARY.encode()))
    async with stage.worker():
        run = await stage.finished(path)
    assert run["state"] == "succeeded"
    assert run["definition"]["resource_texts"] == [CANARY]


async def test_cancellation_ends_an_open_fetch(stage: Stage, receiver: Receiver) -> None:
    url = receiver.on("/policy", waits)
    path = await stage.start(await stage.make_test(resources=remote(url), **FIELDS))
    async with stage.worker():
        await until(lambda: receiver.calls)
        await stage.http.post(f"{path}/cancel")
        run = await stage.finished(path)
    assert (run["state"], run["error"]) == ("cancelled", None)
    assert run["definition"]["resource_texts"] is None
    assert stage.llms.stats.requests == 0


async def test_worker_that_lost_its_lease_while_fetching_keeps_nothing(
    stage: Stage, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the holder writes into the snapshot."""
    may_answer = asyncio.Event()

    async def late(writer: asyncio.StreamWriter) -> None:
        await may_answer.wait()
        await says(200, b"too late")(writer)

    url = receiver.on("/policy", late)
    path = await stage.start(await stage.make_test(resources=remote(url), **FIELDS))
    async with stage.worker() as first:
        await until(lambda: receiver.calls)
        monkeypatch.setattr(first.executor, "_renew", AsyncMock())
        async with stage.services.database.raw() as connection:
            await connection.execute(
                "UPDATE runs SET lease_token = gen_random_uuid(), lease_until = now() + interval '1 hour'"
            )
        may_answer.set()
        await until(lambda: first.held == 0)
        [row] = await stage.rows(
            "SELECT state, definition->>'resource_texts' AS texts FROM runs WHERE id = $1", UUID(path[-36:])
        )
    assert row == {"state": "running", "texts": None}
    assert stage.llms.stats.requests == 0


async def test_direct_evaluation_fetches_before_its_stream(stage: Stage, receiver: Receiver) -> None:
    url = receiver.on("/policy", says(200, CANARY.encode()))
    reading = await stage.evaluated(resources=remote(url), **FIELDS)
    assert reading.status == 200
    assert told(reading.frames)[-1][0] == "chat.validation.end"
    assert prompts_with(stage, CANARY) == {"user": 2, "assistant": 0, "judge": 2}


async def test_direct_evaluation_with_an_unusable_resource_is_a_400(stage: Stage, receiver: Receiver) -> None:
    good, bad = receiver.on("/good", says(200, b"fine")), receiver.on("/bad", says(200, b"", "image/png"))
    body = {"model": stage.gateway["slug"], "goal": "x", "resources": remote(good, bad), **FIELDS}
    answer = await stage.http.post("/api/v1/generations/agentic-tests", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert answer.json()["details"] == [
        {
            "field": "resources.1.data",
            "problem": "cannot be read: it is of the type image/png; only text can be read",
        }
    ]
    [call] = await stage.rows("SELECT state, error_code, cost FROM direct_calls")
    assert (call["state"], call["error_code"], call["cost"]) == ("ended", "resource_unavailable", 0)
    assert stage.llms.stats.requests == 0
