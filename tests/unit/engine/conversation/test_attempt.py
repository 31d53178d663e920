"""One attempt: what came, how it ended, what it used."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import pytest

from parley.engine.attempt import Attempt, merged
from parley.engine.chat.pieces import Piece, Usage
from parley.engine.fakes import (
    OpenGuard,
    Reply,
    ScriptedSpeaker,
    StillClock,
    answers,
    fails,
    says,
    stalls,
)
from parley.engine.messages import Message, Part, Reasoning, Refusal, Text, ToolCall, ToolResult
from parley.engine.patience import Patience
from parley.engine.ports import AttemptOptions, Deadlines, Stop

ASKED = (Message(role="user", content="12345678"),)
USED = Usage(model="m", prompt_tokens=5, completion_tokens=3)
SHORT = Deadlines(first_piece_s=0.01, idle_s=0.01, whole_s=30.0)


async def attempted(
    reply: Reply, guard: OpenGuard | None = None, deadlines: Deadlines | None = None
) -> tuple[Attempt, ScriptedSpeaker]:
    speaker = ScriptedSpeaker([reply], model="llm")
    with Patience(guard or OpenGuard(), deadlines or Deadlines()) as patience:
        attempt = Attempt(speaker, ASKED, AttemptOptions(), patience, StillClock())
        async with aclosing(attempt.parts()) as parts:
            async for _ in parts:
                pass
    assert speaker.open_attempts == 0, "the connection is closed"
    return attempt, speaker


async def test_complete_attempt_has_its_parts_and_its_closing() -> None:
    attempt, _ = await attempted(says("Hel", "lo", finish="length"))
    assert attempt.received == [Text(text="Hel"), Text(text="lo")]
    assert attempt.closing is not None
    assert attempt.closing.finish_reason == "length"
    assert (attempt.fault, attempt.stopped) == (None, False)


async def test_reported_usage_counts() -> None:
    attempt, _ = await attempted(says("Hello", usage=USED))
    assert attempt.usage() == attempt.spent_usage() == USED


async def test_missing_usage_is_estimated_and_marked() -> None:
    attempt, _ = await attempted(says("Hello"))
    assert attempt.usage() == Usage(model="llm", prompt_tokens=2, completion_tokens=2, estimated=True)


async def test_fault_is_kept_with_what_came_before() -> None:
    attempt, _ = await attempted(fails("stream_cut", "Hel"))
    assert attempt.fault is not None
    assert attempt.fault.code == "stream_cut"
    assert attempt.spent_usage() == Usage(model="llm", prompt_tokens=2, completion_tokens=1, estimated=True)


async def test_attempt_without_a_piece_is_free() -> None:
    attempt, _ = await attempted(fails("connect_failed"))
    assert attempt.spent_usage() is None


async def test_usage_reported_before_a_fault_counts() -> None:
    attempt, _ = await attempted(fails("stream_cut", "Hel", usage=USED))
    assert attempt.spent_usage() == USED


async def test_empty_complete_attempt_is_not_free() -> None:
    attempt, _ = await attempted(answers())
    assert attempt.spent_usage() is not None


@pytest.mark.parametrize(
    ("reply", "code"), [(stalls(), "first_token_timeout"), (stalls("a"), "idle_timeout")]
)
async def test_silence_is_a_fault_that_may_be_retried(reply: Reply, code: str) -> None:
    attempt, _ = await attempted(reply, deadlines=SHORT)
    assert attempt.fault is not None
    assert (attempt.fault.code, attempt.fault.retryable) == (code, True)
    assert not attempt.stopped


async def test_stream_without_a_closing_is_cut() -> None:
    class Mute(ScriptedSpeaker):
        async def attempt(
            self, messages: Sequence[Message], options: AttemptOptions
        ) -> AsyncGenerator[Piece, None]:
            assert (messages, options) == (ASKED, AttemptOptions())
            yield Text(text="Hel")

    with Patience(OpenGuard(), None) as patience:
        attempt = Attempt(Mute(), ASKED, AttemptOptions(), patience, StillClock())
        assert [part async for part in attempt.parts()] == [Text(text="Hel")]
    assert attempt.fault is not None
    assert (attempt.fault.code, attempt.fault.retryable) == ("stream_cut", True)


async def test_stop_closes_the_attempt() -> None:
    guard, speaker = OpenGuard(), ScriptedSpeaker([stalls("Hel")])
    with Patience(guard, Deadlines()) as patience:
        attempt = Attempt(speaker, ASKED, AttemptOptions(), patience, StillClock())
        got: list[Part] = []
        async with aclosing(attempt.parts()) as parts:
            async for part in parts:
                got.append(part)
                asyncio.get_running_loop().call_soon(guard.stop, Stop(code="cancelled", message=""))
    assert got == [Text(text="Hel")]
    assert (attempt.stopped, attempt.fault, attempt.closing) == (True, None, None)
    assert speaker.open_attempts == 0


async def test_stop_before_the_first_piece_makes_no_request() -> None:
    guard = OpenGuard()
    guard.stop(Stop(code="cancelled", message=""))
    attempt, speaker = await attempted(says("Hello"), guard)
    assert attempt.stopped
    assert speaker.asked == []
    assert attempt.spent_usage() is None


async def test_leaving_the_parts_closes_the_attempt() -> None:
    speaker = ScriptedSpeaker([says("a", "b")])
    with Patience(OpenGuard(), Deadlines()) as patience:
        attempt = Attempt(speaker, ASKED, AttemptOptions(), patience, StillClock())
        async with aclosing(attempt.parts()) as parts:
            await anext(parts)
    assert speaker.open_attempts == 0


async def test_timing_is_told_from_the_clock() -> None:
    clock = StillClock(at_s=100.0)

    class Slow(ScriptedSpeaker):
        async def attempt(
            self, messages: Sequence[Message], options: AttemptOptions
        ) -> AsyncGenerator[Piece, None]:
            await clock.sleep(0.25)
            async for piece in super().attempt(messages, options):
                yield piece
                await clock.sleep(1.0)

    with Patience(OpenGuard(), Deadlines()) as patience:
        attempt = Attempt(Slow([says("a")]), ASKED, AttemptOptions(), patience, clock)
        async for _ in attempt.parts():
            pass
    timing = attempt.timing()
    assert (timing.first_piece_ms, timing.took_ms, timing.at_ms) == (250, 1250, 101_250)


def test_neighbouring_words_of_one_kind_are_merged() -> None:
    call = ToolCall(id="c", name="n", arguments="{}")
    result = ToolResult(id="c", name="n", content="x")
    parts: list[Part] = [
        Reasoning(text="a"),
        Reasoning(text="b"),
        Text(text="c"),
        Text(text="d"),
        call,
        result,
        Text(text="e"),
        Refusal(text="f"),
        Text(text="g"),
    ]
    assert merged(parts) == [
        Reasoning(text="ab"),
        Text(text="cd"),
        call,
        result,
        Text(text="e"),
        Refusal(text="f"),
        Text(text="g"),
    ]
