"""The remote route as the service meets it: discovery, admission, events, cancel, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from fastapi import FastAPI

from parley.engine.script.protocol import Manifest
from parley.engine.script.record import JudgeIdentity
from parley.sdk.evals import (
    Capacity,
    Evals,
    EvalsMisconfigured,
    HostTimes,
    MemoryStore,
    Pause,
    function_agent,
)
from tests.unit.sdk_evals.remote.stage import AUTH, KEY, QUICK, asked, plan_of, served
from tests.unit.sdk_evals.stage import Lenient, pausing, resuming, step, suite


def evals_of(agent: Any, *steps: dict[str, Any], **given: Any) -> Evals:
    case = given.pop("case", {})
    played = suite(*(steps or (step(),)))
    played["cases"][0] |= case
    return Evals(agent=agent, suites=[played], **given)


def echo(text: str) -> str:
    return f"You said: {text}"


ECHO = function_agent(echo)


class Gate:
    """An agent that answers once the gate is open."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.opened = asyncio.Event()
        self.playing = 0
        self.most = 0

    async def __call__(self, _turn: Any) -> str:
        self.playing += 1
        self.most = max(self.most, self.playing)
        self.asked.set()
        try:
            await self.opened.wait()
        finally:
            self.playing -= 1
        return "Done."


async def test_attempt_is_played_and_told_step_by_step() -> None:
    def agent(turn: Any) -> Any:
        return Pause(question="Sure?", kind="choice", options=["yes"]) if turn.kind == "message" else "Done."

    judge = Lenient()
    evals = evals_of(
        agent,
        pausing(),
        resuming({"using": "approve"}, criteria=["Is done."]),
        judge=judge,
        responders={"approve": lambda: {"type": "select", "ids": ["yes"]}},
        verify=lambda: True,
        commit="abc",
    )
    async with served(evals.asgi(service_key=KEY)) as service:
        manifest = Manifest.of_wire(await service.get("manifest"))
        offer = manifest.offer("s")
        assert offer
        assert manifest.judge
        plan = plan_of(evals, judge=manifest.judge)
        assert (offer.suite, offer.revision, manifest.commit) == (plan.suite, plan.revision, "abc")
        record = await service.played(plan)
        told = [one.event for one in (await service.page(plan.attempt_id)).events]
    assert record.status == "passed", record.wire()
    assert record.verification
    assert record.verification.passed
    assert judge.asked == ["Is done."]
    assert (record.session_id, record.commit) == (plan.session_id, "abc")
    assert [one.sequence for one in told] == list(range(1, len(told) + 1))
    assert [one.step.index for one in told if one.step] == [0, 1]
    whole = [one.type for one in told if one.attempt]
    assert whole == ["case-started", "case-completed"], "the record goes with the first and last event alone"


@pytest.mark.parametrize("at", ["", "/internal/evals"])
async def test_route_is_mounted_anywhere_and_needs_no_lifespan(at: str) -> None:
    evals = evals_of(ECHO)
    route = evals.asgi(service_key=KEY)
    outer = FastAPI()
    outer.mount(at or "/", route)
    async with served(route, outer, at=at) as service:
        assert (await service.played(plan_of(evals))).status == "passed"


@pytest.mark.parametrize("headers", [{}, {"Authorization": f"Bearer {KEY}x"}, {"Authorization": KEY}])
async def test_stranger_is_told_nothing(headers: dict[str, str]) -> None:
    async with served(evals_of(ECHO).asgi(service_key=KEY), headers=headers) as service:
        for path in ("manifest", "attempts/x/events", "nowhere"):
            assert (await service.get(path, 401))["error"]["code"] == "key_refused"
        assert (await service.client.post("attempts", content=b"{")).status_code == 401
        assert (await service.client.delete("attempts/x")).status_code == 401


@pytest.mark.parametrize(
    "key", ["short", "x" * 31, "a key with blanks, though it is long enough", [], "ü" * 40]
)
def test_weak_key_is_refused_when_the_app_starts(key: Any) -> None:
    with pytest.raises(EvalsMisconfigured, match="32"):
        evals_of(ECHO).asgi(service_key=key)


async def test_both_keys_hold_while_one_is_replaced() -> None:
    app = evals_of(ECHO).asgi(service_key=[KEY[::-1], KEY])
    async with served(app, headers=AUTH) as service:
        assert await service.instance()


async def test_same_attempt_is_admitted_once_and_another_under_its_id_refused() -> None:
    calls: list[str] = []

    def agent(_turn: Any) -> str:
        calls.append("asked")
        return "x"

    evals = evals_of(agent)
    plan = plan_of(evals)
    async with served(evals.asgi(service_key=KEY)) as service:
        await service.admit(plan)
        await service.follow(plan)
        assert (await service.admit(plan))["state"] == "done"
        assert (await service.admit(plan, 409, repetition=2))["error"]["code"] == "attempt_differs"
    assert calls == ["asked"]


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"protocolVersion": 0}, 400, "protocol_unsupported"),
        ({"protocolVersion": 2}, 400, "protocol_unsupported"),
        ({"protocolVersion": "1"}, 400, "protocol_unsupported"),
        ({"repetition": 0}, 400, "invalid_request"),
        ({"attemptId": "../x"}, 400, "invalid_request"),
        ({"extra": 1}, 400, "invalid_request"),
        ({"instance": "another"}, 409, "instance_changed"),
        ({"suiteId": "other"}, 422, "suite_unknown"),
        ({"suiteRevision": "0" * 64}, 422, "suite_changed"),
        ({"caseId": "other"}, 422, "case_unknown"),
        ({"judge": None}, 422, "judge_missing"),
    ],
)
async def test_what_is_not_played_is_said_at_once(changes: dict[str, Any], status: int, code: str) -> None:
    evals = evals_of(ECHO, step(criteria=["Is kind."]), judge=Lenient())
    async with served(evals.asgi(service_key=KEY)) as service:
        judge = Manifest.of_wire(await service.get("manifest")).judge
        told = await service.admit(plan_of(evals, judge=judge), status, **changes)
    assert told["error"]["code"] == code, told


async def test_versions_that_do_not_meet_say_which_side_is_to_be_updated() -> None:
    evals = evals_of(ECHO)
    async with served(evals.asgi(service_key=KEY)) as service:
        older = await service.admit(plan_of(evals), 400, protocolVersion=0)
        newer = await service.admit(plan_of(evals), 400, protocolVersion=2)
    assert "Update parley-evals in the service." in older["error"]["message"]
    assert "Update parley-evals in the app." in newer["error"]["message"]


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (JudgeIdentity(id="lenient", version_hash="0" * 64, location="app"), "judge_mismatch"),
        (JudgeIdentity(id="service", version_hash="0" * 64, location="service"), "judge_missing"),
    ],
)
async def test_another_judge_is_refused_before_anything_runs(
    wanted: JudgeIdentity, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PARLEY_URL", "PARLEY_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    called: list[str] = []
    evals = evals_of(ECHO, step(criteria=["Is kind."]), judge=Lenient(), setup=lambda: called.append("setup"))
    async with served(evals.asgi(service_key=KEY)) as service:
        await service.admit(plan_of(evals, judge=wanted))
        page = await service.page("attempt-1")
    assert (page.state, page.error and page.error.code, called) == ("refused", code, [])


async def test_capacity_is_held_through_cleanup_and_fullness_says_when_to_come_again() -> None:
    gate, torn_down = Gate(), asyncio.Event()

    async def teardown() -> None:
        await torn_down.wait()

    evals = evals_of(gate, teardown=teardown)
    capacity = Capacity(concurrent=1, queued=1)
    async with served(evals.asgi(service_key=KEY, capacity=capacity, times=QUICK)) as service:
        first, second, third = (plan_of(evals, f"attempt-{n}") for n in (1, 2, 3))
        await service.admit(first)
        await gate.asked.wait()
        await service.admit(second)
        body = asked(third, await service.instance())
        refused = await service.client.post("attempts", json=body)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        gate.opened.set()
        await asyncio.sleep(0.1)
        assert (await service.page("attempt-2", wait=0)).state == "queued"
        torn_down.set()
        for plan in (first, second):
            await service.follow(plan)
        await service.played(third)
    assert gate.most == 1


async def test_cases_of_one_lock_are_never_played_together() -> None:
    gate = Gate()
    evals = evals_of(gate, case={"lock": "till"})
    async with served(evals.asgi(service_key=KEY)) as service:
        plans = [plan_of(evals, f"attempt-{n}") for n in (1, 2)]
        for plan in plans:
            await service.admit(plan)
        await gate.asked.wait()
        assert (await service.page("attempt-2", wait=0)).state == "queued"
        gate.opened.set()
        for plan in plans:
            await service.follow(plan)
    assert gate.most == 1


async def test_cancel_cleans_up_keeps_what_there_is_and_is_told_by_events() -> None:
    gate = Gate()
    torn_down: list[str] = []
    evals = evals_of(gate, teardown=lambda context: torn_down.append(context.attempt_id))
    capacity = Capacity(concurrent=1)
    async with served(evals.asgi(service_key=KEY, capacity=capacity)) as service:
        running, waiting = plan_of(evals), plan_of(evals, "attempt-2")
        await service.admit(running)
        await service.admit(waiting)
        await gate.asked.wait()
        assert (await service.cancel("attempt-2"))["state"] == "queued"
        assert (await service.cancel("attempt-1"))["state"] == "running"
        for plan in (running, waiting):
            record = (await service.follow(plan)).record
            assert record
            assert record.status == "cancelled"
        assert (await service.cancel("nobody", 404))["error"]["code"] == "attempt_unknown"
    assert torn_down == ["attempt-1"], "what never began has nothing to take back"


async def test_app_that_ends_leaves_errors_not_cancels() -> None:
    gate, store = Gate(), MemoryStore()
    evals = evals_of(gate)
    app = evals.asgi(service_key=KEY, store=store, times=QUICK)
    async with served(app) as service:
        await service.admit(plan_of(evals))
        await gate.asked.wait()
    stored = await store.read("attempt-1", 0, most=50, max_bytes=1_000_000)
    assert stored
    last = stored.events[-1][1]["attempt"]
    assert (last["status"], last["errors"][-1]["code"]) == ("error", "app_stopped")


async def test_agent_that_holds_up_the_loop_for_longer_than_a_lease_keeps_its_attempt() -> None:
    async def rude(_turn: Any) -> str:
        time.sleep(0.3)  # noqa: ASYNC251 - what customers' code does
        return "Done."

    evals = evals_of(rude)
    times = HostTimes(lease_s=0.1, renew_s=0.02, close_s=2)
    async with served(evals.asgi(service_key=KEY, times=times)) as service:
        assert (await service.played(plan_of(evals))).status == "passed"


async def test_events_are_read_from_any_cursor_and_waited_for() -> None:
    gate = Gate()
    evals = evals_of(gate)
    async with served(evals.asgi(service_key=KEY)) as service:
        plan = plan_of(evals)
        await service.admit(plan)
        await gate.asked.wait()
        page = await service.page("attempt-1", wait=0)
        waiting = asyncio.ensure_future(service.page("attempt-1", page.cursor))
        await asyncio.sleep(0.05)
        assert not waiting.done(), "there is nothing new yet"
        gate.opened.set()
        news = await waiting
        assert news.events[0].cursor == page.cursor + 1
        await service.follow(plan)
        await service.get("attempts/attempt-1/events?cursor=-1", 400)
        await service.get("attempts/attempt-1/events?wait=600", 400)
        await service.get(f"attempts/attempt-1/events?wait={'9' * 5_000}", 400)
        await service.get("attempts/nobody/events", 404)


async def test_record_that_is_too_large_is_refused_and_never_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    from parley.sdk.evals.remote import telling

    monkeypatch.setattr(telling, "MAX_EVENT_BYTES", 5_000)
    torn_down: list[int] = []
    evals = evals_of(function_agent(lambda _text: "x" * 6_000), teardown=lambda: torn_down.append(1))
    async with served(evals.asgi(service_key=KEY)) as service:
        await service.admit(plan_of(evals))
        cursor = 0
        while (page := await service.page("attempt-1", cursor)).state != "refused":
            cursor = page.cursor
    assert page.error
    assert page.error.code == "record_too_large"
    assert torn_down == [1]


async def test_private_words_stay_in_the_app() -> None:
    def agent(_turn: Any) -> str:
        raise RuntimeError("password hunter2")

    evals = evals_of(agent)
    async with served(evals.asgi(service_key=KEY)) as service:
        record = await service.played(plan_of(evals))
        told = await service.get("attempts/attempt-1/events")
    assert record.status == "error"
    assert "hunter2" not in json.dumps(told)


async def test_request_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    async with served(evals_of(ECHO).asgi(service_key=KEY)) as service:
        assert (await service.client.post("attempts", content=b"x" * 70_000)).status_code == 413
        assert (await service.client.post("attempts", content=b"[" * 9_000)).status_code == 400
        assert (await service.client.post("attempts", content=b"nonsense")).status_code == 400
    assert KEY not in caplog.text


async def test_lifespan_of_an_app_of_its_own() -> None:
    gate = Gate()
    evals = evals_of(gate)
    app = evals.asgi(service_key=KEY, times=QUICK)
    sent: list[str] = []
    told = iter(["lifespan.startup", "lifespan.shutdown"])

    async def receive() -> dict[str, Any]:
        return {"type": next(told)}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    async with served(app) as service:
        await service.admit(plan_of(evals))
        await gate.asked.wait()
        await app({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert gate.playing == 0
