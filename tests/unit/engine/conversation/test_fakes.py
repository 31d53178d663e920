"""The shipped fakes."""

from __future__ import annotations

import pytest

from parley.engine.converse import converse
from parley.engine.events import Ended
from parley.engine.fakes import (
    OpenGuard,
    QuietHooks,
    ScriptEnded,
    StillClock,
    opinion,
    says,
    scripted_parties,
)
from parley.engine.messages import Message, Text
from parley.engine.ports import AttemptOptions, Stop
from parley.engine.spec import Hook, Spec

STOP = Stop(code="cancelled", message="stop")


async def test_scripted_conversation_runs_to_its_end() -> None:
    parties = scripted_parties(
        user=[says("Where is my order?"), says("Thanks. <LEAVE-TALK/>")],
        gateway=[says("On its way."), says("You are welcome.")],
        judge=[opinion("0.6"), opinion("0.95")],
    )
    events = [event async for event in converse(Spec(goal="Find the order.", seed=1), parties)]
    assert isinstance(events[-1], Ended)
    assert events[-1].verdict is not None
    assert events[-1].verdict.outcome == "success"


async def test_script_that_is_too_short_says_so() -> None:
    speaker = scripted_parties(user=[says("One.")]).user
    messages, options = [Message(role="user", content="Hi")], AttemptOptions()
    first = [piece async for piece in speaker.attempt(messages, options)]
    assert first[0] == Text(text="One.")
    with pytest.raises(ScriptEnded, match="attempt 2 of 1"):
        await anext(speaker.attempt(messages, options))


async def test_guard_stops_for_good() -> None:
    guard = OpenGuard({2: STOP})
    assert (await guard.may_start_turn(1), await guard.may_start_turn(2)) == (None, STOP)
    guard.stop(STOP)
    assert guard.stopped() is STOP
    assert await guard.may_start_turn(3) is STOP
    assert guard.asked_turns == [1, 2, 3]


async def test_hooks_refuse_by_index() -> None:
    hooks, hook = QuietHooks({1}), Hook(event="before-test", url="u")
    answers = [await hooks.call(hook, index, 0, {}) for index in (0, 1)]
    assert [answer.continued for answer in answers] == [True, False]
    assert [call.index for call in hooks.calls] == [0, 1]


async def test_clock_moves_only_by_sleeping() -> None:
    clock = StillClock(at_s=10.0)
    assert clock.now_ms() == clock.now_ms() == 10_000
    await clock.sleep(2.5)
    assert (clock.now_ms(), clock.monotonic_s(), clock.slept_s) == (12_500, 12.5, [2.5])
