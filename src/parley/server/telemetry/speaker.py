"""A speaker that is watched: each attempt is counted, timed and traced."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from opentelemetry.trace import Span

from parley.engine.chat.faults import InferenceFault
from parley.engine.chat.pieces import Closing, Piece
from parley.engine.events import Speaking
from parley.engine.messages import Message, Part
from parley.engine.ports import AttemptOptions, Guard, Speaker
from parley.server.llm.prices import Prices
from parley.server.telemetry.chat_span import answer_attributes, begin_chat, fail, spoken
from parley.server.telemetry.metrics import Metrics
from parley.server.telemetry.tracing import Tracing, traceparent


@dataclass(frozen=True, slots=True, kw_only=True)
class Watchers:
    """Who wants to know of attempts."""

    metrics: Metrics | None
    tracing: Tracing | None


@runtime_checkable
class CarryingSpeaker(Protocol):
    """A speaker that can send headers along."""

    def carrying(self, headers: Mapping[str, str]) -> Speaker:
        """The same speaker, sending these too."""
        ...


class WatchedSpeaker:
    """The speaker itself, seen from outside: pieces and faults pass through as they are."""

    def __init__(
        self, speaker: Speaker, role: Speaking, prices: Prices, guard: Guard, watchers: Watchers
    ) -> None:
        self.model = speaker.model
        self._speaker = speaker
        self._role: Speaking = role
        self._prices = prices
        self._guard = guard
        self._metrics = watchers.metrics
        self._tracing = watchers.tracing

    async def attempt(
        self, messages: Sequence[Message], options: AttemptOptions
    ) -> AsyncGenerator[Piece, None]:
        """Make one attempt, as the speaker would."""
        span = begin_chat(self._tracing, self._role, self.model, messages, options) if self._tracing else None
        seen = _Seen(keeps_parts=bool(self._tracing and self._tracing.content))
        try:
            async with aclosing(self._sender(span).attempt(messages, options)) as pieces:
                async for piece in pieces:  # once for every chunk: no call is made here that need not be
                    if seen.first_piece_s is None:
                        seen.first_piece_s = seen.took_s
                    if isinstance(piece, Closing):
                        seen.closing, seen.outcome = piece, "answered"
                    elif seen.keeps_parts:
                        seen.parts.append(piece)
                    yield piece
            if seen.closing is None:
                seen.outcome = "stream_cut"
        except InferenceFault as fault:
            seen.outcome, seen.fault = fault.code, fault
            raise
        except asyncio.CancelledError:
            seen.outcome = "stopped" if self._guard.stopped() else "timed_out"
            raise
        finally:
            self._tell(seen, span)

    def _sender(self, span: Span | None) -> Speaker:
        """Only the system under test is told of the trace: it is the customer's, and so may theirs be."""
        header = traceparent(span) if span is not None and self._role == "assistant" else None
        if header is None or not isinstance(self._speaker, CarryingSpeaker):
            return self._speaker
        return self._speaker.carrying({"traceparent": header})

    def _tell(self, seen: _Seen, span: Span | None) -> None:
        if self._metrics is not None:
            self._metrics.inference(self._role, seen.outcome, seen.took_s, seen.first_piece_s)
            if seen.closing is not None:
                self._metrics.usage(self._role, seen.closing.usage, self._prices)
        if span is not None:
            _finish(span, seen)


@dataclass(slots=True)
class _Seen:
    """What was seen of one attempt. `outcome` is `stopped` until something else is known."""

    keeps_parts: bool
    outcome: str = "stopped"
    first_piece_s: float | None = None
    closing: Closing | None = None
    fault: InferenceFault | None = None
    parts: list[Part] = field(default_factory=list)
    _began: float = field(default_factory=time.perf_counter)

    @property
    def took_s(self) -> float:
        return time.perf_counter() - self._began


def _finish(span: Span, seen: _Seen) -> None:
    if span.is_recording():
        span.set_attributes(answer_attributes(seen.closing, seen.first_piece_s))
        if seen.keeps_parts:
            span.set_attributes(spoken(seen.parts, seen.closing))
        if seen.outcome != "answered":
            fail(span, seen.outcome, seen.fault.status if seen.fault else None)
    span.end()
