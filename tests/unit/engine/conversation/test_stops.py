"""Stops: a balance that is gone, a cancellation, a time limit, a worker that leaves."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from parley.engine.converse import converse
from parley.engine.events import Ended, HookCalled, Spent
from parley.engine.fakes import (
    OpenGuard,
    QuietHooks,
    ScriptedSpeaker,
    StillClock,
    fails,
    says,
    scripted_parties,
    stalls,
)
from parley.engine.plan import MAX_TAKEOVERS
from parley.engine.ports import HookAnswer, Stop
from parley.engine.spec import Hook
from parley.engine.state import WORKER_LOST
from tests.unit.engine.conversation.stories import (
    ALL_HOOKS,
    BALANCE,
    CALLS_TOOL,
    CANCELLED,
    HANDED_OVER,
    MOCKS,
    NEUTRAL,
    START_WITH_QUESTION,
    SUSPENDED,
    TIME_LIMIT,
    Held,
    Story,
    begin,
    go_on,
    hold,
    hooks_on,
    spec_with,
)

TURN = ["user", "assistant", "opinion"]
STOPS = [CANCELLED, TIME_LIMIT, HANDED_OVER]
BY_CODE = pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop.code)


def talk(**fields: Any) -> Story:
    script = {"user": [says("U1"), says("U2")], "gateway": [says("A1"), says("A2")], "judge": [NEUTRAL] * 2}
    return Story(**{"spec": spec_with(max_turns=2), **script, **fields})


class LongSleep(StillClock):
    """A clock on which every sleep lasts for ever; `asleep` is set while one does."""

    def __init__(self) -> None:
        super().__init__()
        self.asleep = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.asleep.set()
        await asyncio.Event().wait()


class SlowHooks(QuietHooks):
    """Hooks that never answer."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = asyncio.Event()

    async def call(self, hook: Hook, index: int, turn: int, data: dict[str, Any]) -> HookAnswer:
        await super().call(hook, index, turn, data)
        self.waiting.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody answers")


async def stopped(story: Story, held: Held, moment: asyncio.Event, stop: Stop, **ports: Any) -> Held:
    """Hold the story, and stop it once `moment` has come."""
    task = asyncio.create_task(go_on(story, held, **ports))
    await moment.wait()
    held.guard.stop(stop)
    await task
    return held


def ends_as_it_was_stopped(run: Held, stop: Stop) -> None:
    ends = [entry for entry in run.entries if isinstance(entry, Ended)]
    if stop.code == "handed_over":
        assert ends == [], "another worker goes on"
        return
    assert run.ended is ends[0]
    assert run.ended.cancelled is (stop.code == "cancelled")
    assert run.ended.verdict is None
    assert (run.ended.failure and run.ended.failure.code) == (None if stop.code == "cancelled" else stop.code)


# At a turn's start


@pytest.mark.parametrize("stop", [BALANCE, SUSPENDED], ids=lambda stop: stop.code)
async def test_account_that_may_not_go_on_ends_at_a_turns_start(stop: Stop) -> None:
    run = await hold(talk(closed_turns={2: stop}))
    assert run.kinds == [*TURN, "ended"]
    failure = run.ended.failure
    assert failure is not None
    assert (failure.code, failure.message, failure.turn) == (stop.code, stop.message, 2)
    assert failure.scope == "user_inference"
    assert len(run.user.asked) == 1


async def test_turn_that_the_gateway_opens_is_asked_for_too() -> None:
    run = await hold(talk(spec=spec_with(start=START_WITH_QUESTION), closed_turns={1: BALANCE}))
    assert run.kinds == ["ended"]
    assert run.ended.failure is not None
    assert run.ended.failure.scope == "gateway_inference"


async def test_begun_turn_is_finished_with_an_empty_balance() -> None:
    """Also by another worker, whatever of the turn was kept."""
    story = talk(closed_turns={1: BALANCE, 2: BALANCE})
    whole = (await hold(talk())).entries
    for kept in (1, 2):
        run = await hold(story, whole[:kept])
        assert run.kinds == [*TURN[kept:], "ended"]
        assert run.guard.asked_turns == [2]


async def test_end_of_the_last_turn_needs_no_balance() -> None:
    run = await hold(
        talk(spec=spec_with(max_turns=2, hooks=hooks_on("after-test")), closed_turns={3: BALANCE})
    )
    assert run.outcome is not None


# During each kind of wait

MESSAGES = {
    "user": ({"user": [stalls("Whe")]}, "user"),
    "user, silent": ({"user": [stalls()]}, "user"),
    "gateway": ({"gateway": [stalls("On i")]}, "gateway"),
    "gateway, second round": ({"gateway": [CALLS_TOOL, stalls("On i")]}, "gateway"),
    "judge": ({"judge": [stalls('{"reas')]}, "judge"),
}


@BY_CODE
@pytest.mark.parametrize("who", MESSAGES)
async def test_stop_during_an_inference_closes_it_and_leaves_one_entry(who: str, stop: Stop) -> None:
    script, speaker_name = MESSAGES[who]
    story = talk(spec=spec_with(max_turns=2, tool_mocks=MOCKS, hooks=hooks_on("after-test")), **script)
    held = begin(story)
    speaker: ScriptedSpeaker = getattr(held, speaker_name)
    run = await stopped(story, held, speaker.stalled, stop)
    assert speaker.open_attempts == 0
    assert len(run.spent) == 1
    spent = run.spent[0]
    assert spent.reason == ("handed_over" if stop is HANDED_OVER else "cancelled")
    assert (spent.code, spent.will_retry) == (stop.code, stop is HANDED_OVER)
    assert (spent.usage is None) == (who == "user, silent")
    assert run.entries[-1 if stop is HANDED_OVER else -2] is spent, "no further call"
    assert run.hooks.calls == []
    ends_as_it_was_stopped(run, stop)


@BY_CODE
async def test_stop_during_a_backoff_makes_no_further_attempt(stop: Stop) -> None:
    story, clock = talk(gateway=[fails("http_error", "On i", status=503)]), LongSleep()
    run = await stopped(story, begin(story), clock.asleep, stop, clock=clock)
    assert [(s.reason, s.code) for s in run.spent] == [("retried", "http_error")]
    assert len(run.gateway.asked) == 1
    assert run.judge.asked == []
    ends_as_it_was_stopped(run, stop)


@BY_CODE
@pytest.mark.parametrize("event", ["before-test", "before-inference", "context-changed"])
async def test_stop_during_a_hook_leaves_no_entry_of_it(event: Any, stop: Stop) -> None:
    """It may be sent again, by the worker that goes on, under the same id."""
    story, hooks = talk(spec=spec_with(max_turns=2, hooks=hooks_on(event))), SlowHooks()
    run = await stopped(story, begin(story), hooks.waiting, stop, hooks=hooks)
    assert run.spent == []
    assert run.hook_calls == []
    assert run.judge.asked == []
    ends_as_it_was_stopped(run, stop)


@BY_CODE
async def test_stop_while_the_consumer_is_busy_is_obeyed_at_the_next_step(stop: Stop) -> None:
    story = talk()
    held = begin(story)
    parties = scripted_parties(held.user, held.gateway, held.judge, guard=held.guard, clock=held.clock)
    async with aclosing(converse(story.spec, parties)) as events:
        async for event in events:
            held.events.append(event)
            if len(held.entries) == 1:
                held.guard.stop(stop)
                await asyncio.sleep(0.001)
    assert held.kinds == (["user"] if stop is HANDED_OVER else ["user", "ended"])
    ends_as_it_was_stopped(held, stop)


async def test_stop_between_two_pieces_ends_the_attempt_at_the_next_wait() -> None:
    story = talk(gateway=[says(*"On its way")])
    held = begin(story)
    parties = scripted_parties(held.user, held.gateway, held.judge, guard=held.guard, clock=held.clock)
    async with aclosing(converse(story.spec, parties)) as events:
        async for event in events:
            held.events.append(event)
            if held.gateway.asked:
                held.guard.stop(CANCELLED)
                await asyncio.sleep(0.001)
    assert held.kinds == ["user", "cancelled", "ended"]
    assert held.gateway.open_attempts == 0


@pytest.mark.parametrize(
    ("kept", "scope"), [(0, "user_inference"), (1, "gateway_inference"), (2, "judge_analysis")]
)
async def test_cancelled_end_names_the_step_that_was_next(kept: int, scope: str) -> None:
    story = talk()
    whole = (await hold(story)).entries
    held = begin(story, whole[:kept])
    held.guard.stop(CANCELLED)
    run = await go_on(story, held, whole[:kept])
    assert run.kinds == ["ended"]
    assert (run.ended.cancelled, run.ended.scope) == (True, scope)


async def test_stop_that_comes_before_anything_makes_no_call() -> None:
    story = talk(spec=spec_with(hooks=ALL_HOOKS))
    held = begin(story)
    held.guard.stop(CANCELLED)
    run = await go_on(story, held)
    assert run.kinds == ["ended"]
    assert run.hooks.calls == []
    assert run.user.asked == []
    assert run.guard.asked_turns == []


async def test_first_stop_stands() -> None:
    guard = OpenGuard()
    guard.stop(TIME_LIMIT)
    guard.stop(CANCELLED)
    run = await hold(talk(), guard=guard)
    assert run.ended.failure is not None
    assert run.ended.failure.code == "time_limit"


async def test_real_cancellation_of_the_holder_goes_through_and_closes_the_attempt() -> None:
    story = talk(gateway=[stalls("On i")])
    held = begin(story)
    task = asyncio.create_task(go_on(story, held))
    await held.gateway.stalled.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert held.gateway.open_attempts == 0
    assert held.kinds == ["user"]


async def test_consumer_that_leaves_closes_the_attempt() -> None:
    story = talk(gateway=[says("On ", "its ", "way.")])
    held = begin(story)
    parties = scripted_parties(held.user, held.gateway, held.judge)
    async with aclosing(converse(story.spec, parties)) as events:
        async for _ in events:
            if held.gateway.open_attempts:
                break
    assert held.gateway.open_attempts == 0


# Takeovers


def lost(**fields: Any) -> Spent:
    spent = Spent(
        role="user",
        turn=1,
        attempt=1,
        reason="handed_over",
        code=WORKER_LOST,
        error="lost",
        will_retry=True,
        usage=None,
        at_ms=0,
    )
    return replace(spent, **fields)


async def test_conversation_goes_on_after_a_lost_worker() -> None:
    run = await hold(talk(user=lambda n: says(f"U{n}")), [lost()] * (MAX_TAKEOVERS - 1))
    assert run.kinds == [*TURN, *TURN, "ended"]


async def test_conversation_that_gets_no_further_is_given_up() -> None:
    run = await hold(talk(), [lost()] * MAX_TAKEOVERS)
    assert run.kinds == ["ended"]
    assert run.ended.failure is not None
    assert run.ended.failure.code == WORKER_LOST


async def test_hook_that_was_called_is_progress() -> None:
    hook = HookCalled(
        index=0, event="before-test", turn=0, url="u", called=True, continued=True, at_ms=0, status=200
    )
    spec = spec_with(max_turns=2, hooks=hooks_on("before-test"))
    story = talk(spec=spec, user=lambda n: says(f"U{n}"))
    run = await hold(story, [*[lost(turn=0)] * 2, hook, *[lost()] * 2])
    assert run.outcome is not None


async def test_attempts_of_a_lost_worker_do_not_count() -> None:
    down = fails("http_error", status=503)
    story = talk(user=[down, down, down, says("U1"), says("U2")])
    failed = Spent(
        role="user",
        turn=1,
        attempt=1,
        reason="retried",
        code="http_error",
        error="down",
        will_retry=True,
        usage=None,
        at_ms=0,
    )
    run = await hold(story, [failed, lost(attempt=2)])
    assert run.kinds == ["http_error", *TURN, *TURN, "ended"]
