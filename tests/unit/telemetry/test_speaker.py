"""A watched speaker is the speaker: pieces, faults and stops pass through, and each attempt is told once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

import pytest
from opentelemetry.sdk.trace import SpanProcessor

from parley.engine.attempt import Attempt
from parley.engine.chat.faults import InferenceFault
from parley.engine.chat.pieces import Closing, Piece, Usage
from parley.engine.fakes import OpenGuard, Reply, ScriptedSpeaker, StillClock, fails, says, stalls
from parley.engine.messages import Message, Text
from parley.engine.patience import Patience
from parley.engine.ports import AttemptOptions, Deadlines, Stop
from parley.server.llm.prices import Prices
from parley.server.telemetry.metrics import Metrics
from parley.server.telemetry.speaker import WatchedSpeaker, Watchers
from parley.server.telemetry.tracing import TraceRules, Tracing

ASKED = (Message(role="user", content="Hello"),)
PRICES = Prices.of("2", "1", "4")


def watched(speaker: ScriptedSpeaker, guard: OpenGuard | None = None) -> tuple[WatchedSpeaker, Metrics]:
    metrics = Metrics()
    watchers = Watchers(metrics=metrics, tracing=None)
    return WatchedSpeaker(speaker, "assistant", PRICES, guard or OpenGuard(), watchers), metrics


def count(metrics: Metrics, name: str, **labels: str) -> float:
    return metrics.registry.get_sample_value(name, {"role": "assistant", **labels}) or 0.0


async def pieces_of(speaker: ScriptedSpeaker | WatchedSpeaker) -> list[Piece]:
    return [piece async for piece in speaker.attempt(ASKED, AttemptOptions())]


USAGE = Usage(model="x", prompt_tokens=1_000_000, cached_prompt_tokens=250_000, completion_tokens=500_000)


@pytest.mark.parametrize("reply", [says("Hel", "lo", reasoning="hm"), says("Hi", usage=USAGE)])
async def test_pieces_pass_through_as_they_are(reply: Reply) -> None:
    speaker, _ = watched(ScriptedSpeaker([reply]))
    assert await pieces_of(speaker) == await pieces_of(ScriptedSpeaker([reply]))
    assert speaker.model == "scripted"


async def test_answer_is_counted_with_its_tokens_and_cost() -> None:
    speaker, metrics = watched(ScriptedSpeaker([says("Hi", usage=USAGE)]))
    await pieces_of(speaker)
    assert count(metrics, "parley_inferences_total", outcome="answered") == 1
    assert count(metrics, "parley_tokens_total", kind="prompt") == 1_000_000
    assert count(metrics, "parley_tokens_total", kind="cached_prompt") == 250_000
    assert count(metrics, "parley_tokens_total", kind="completion") == 500_000
    assert count(metrics, "parley_inference_cost_usd_total") == pytest.approx(1.5 + 0.25 + 2.0)
    assert count(metrics, "parley_inferences_without_usage_total") == 0


async def test_answer_without_usage_is_counted_as_such() -> None:
    speaker, metrics = watched(ScriptedSpeaker([says("Hi")]))
    await pieces_of(speaker)
    assert count(metrics, "parley_inferences_without_usage_total") == 1
    assert count(metrics, "parley_tokens_total", kind="prompt") == 0


async def test_fault_is_the_same_one_and_counted_by_its_code() -> None:
    speaker, metrics = watched(ScriptedSpeaker([fails("rate_limited", "Hal", status=429)]))
    with pytest.raises(InferenceFault) as raised:
        await pieces_of(speaker)
    assert (raised.value.code, raised.value.status) == ("rate_limited", 429)
    assert count(metrics, "parley_inferences_total", outcome="rate_limited") == 1
    assert count(metrics, "parley_inference_seconds_count") == 0


class EndlessSpeaker(ScriptedSpeaker):
    """Ends without a closing."""

    async def attempt(self, messages: Sequence[Message], options: AttemptOptions):  # type: ignore[no-untyped-def]
        yield Text(text="Hal")


async def test_stream_without_an_end_is_cut() -> None:
    speaker, metrics = watched(EndlessSpeaker())
    await pieces_of(speaker)
    assert count(metrics, "parley_inferences_total", outcome="stream_cut") == 1


async def held(speaker: WatchedSpeaker, guard: OpenGuard, deadlines: Deadlines) -> Attempt:
    """An attempt as the engine makes it."""
    with Patience(guard, deadlines) as patience:
        attempt = Attempt(speaker, ASKED, AttemptOptions(), patience, StillClock())
        async for _ in attempt.parts():
            pass
    return attempt


async def test_deadline_of_ours_is_told_from_a_stop() -> None:
    inner = ScriptedSpeaker([stalls("Hal"), stalls("Hal")])
    guard = OpenGuard()
    speaker, metrics = watched(inner, guard)
    attempt = await held(speaker, guard, Deadlines(first_piece_s=5, idle_s=0.01, whole_s=5))
    assert attempt.fault is not None
    assert attempt.fault.code == "idle_timeout"
    assert count(metrics, "parley_inferences_total", outcome="timed_out") == 1
    asyncio.get_running_loop().call_later(0.01, guard.stop, Stop(code="cancelled", message="Enough."))
    attempt = await held(speaker, guard, Deadlines())
    assert attempt.stopped
    assert count(metrics, "parley_inferences_total", outcome="stopped") == 1
    assert inner.open_attempts == 0, "the connection is closed through the watcher"


async def test_consumer_that_leaves_closes_the_attempt() -> None:
    inner = ScriptedSpeaker([says("a", "b", "c")])
    speaker, metrics = watched(inner)
    async with aclosing(speaker.attempt(ASKED, AttemptOptions())) as pieces:
        await anext(pieces)
    assert inner.open_attempts == 0
    assert count(metrics, "parley_inferences_total", outcome="stopped") == 1


async def test_consumer_that_takes_the_closing_and_leaves_has_an_answer() -> None:
    speaker, metrics = watched(ScriptedSpeaker([says("a")]))
    async with aclosing(speaker.attempt(ASKED, AttemptOptions())) as pieces:
        async for piece in pieces:
            if isinstance(piece, Closing):
                break
    assert count(metrics, "parley_inferences_total", outcome="answered") == 1


class CarryingFake(ScriptedSpeaker):
    """Remembers what it was to carry."""

    carried: dict[str, str]

    def carrying(self, headers: dict[str, str]) -> ScriptedSpeaker:
        self.carried = headers
        return self


@pytest.mark.parametrize(("role", "carries"), [("user", False), ("assistant", True), ("judge", False)])
async def test_trace_is_told_to_the_system_under_test_alone(role: str, carries: bool) -> None:
    tracing = Tracing.to_collector(TraceRules(url="", headers={}), SpanProcessor())
    fake = CarryingFake([says("a")])
    watchers = Watchers(metrics=None, tracing=tracing)
    await pieces_of(WatchedSpeaker(fake, role, PRICES, OpenGuard(), watchers))  # type: ignore[arg-type]
    assert hasattr(fake, "carried") is carries
