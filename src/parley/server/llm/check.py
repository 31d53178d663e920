"""Tries an llm out with one tiny message and tells what came back, in plain words."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from parley.engine.chat.faults import FaultCode, InferenceFault
from parley.engine.chat.pieces import Closing, Piece
from parley.engine.messages import Message
from parley.engine.ports import AttemptOptions, Speaker

CHECK_DEADLINE_S: Final = 30.0
"""A person waits for the result; a sleeping llm may need this long to wake."""
AT_ONCE_NOTE: Final = "the endpoint answered at once, without streaming"
"""The decoder's note for a whole completion."""

_ADVICE: Final[dict[FaultCode, str]] = {
    "address_refused": "Use an address that is reachable from the public internet.",
    "connect_failed": "Check the address, the port, and that the service is running.",
    "http_error": "The service has a problem of its own; its log will tell more.",
    "inference_timeout": "The llm may be loading, or too slow.",
    "not_a_stream": "Check that the address ends before /chat/completions, often with /v1.",
    "provider_error": "The service refused while answering; see its words.",
    "rate_limited": "The provider's rate limit or credit is used up.",
    "request_refused": "Check the key, the name of the llm and the settings.",
    "stream_cut": "The service hung up; a proxy before it may be doing that.",
    "stream_malformed": "The service does not speak the chat-completions stream.",
    "stream_too_large": "The service sends more than one answer may hold.",
}

_NOT_FOUND_ADVICE: Final = (
    "Check the address, which ends before /chat/completions, often with /v1; then the name of the llm."
)
"""A 404 comes from a wrong address more often than from a wrong name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """What one tiny message told about an llm.

    `streams` and `reports_usage` are None where no answer came. `latency_ms` is the whole call,
    `first_piece_ms` the wait for its first piece. `fault` is a sentence, what to do included.
    """

    ok: bool
    latency_ms: int
    first_piece_ms: int | None = None
    streams: bool | None = None
    reports_usage: bool | None = None
    model: str | None = None
    notes: tuple[str, ...] = ()
    code: FaultCode | None = None
    status: int | None = None
    fault: str | None = None


async def check_target(speaker: Speaker, *, deadline_s: float = CHECK_DEADLINE_S) -> CheckReport:
    """Ask `speaker` for one word, once. Never raises for anything that the other side does."""
    started_s = time.perf_counter()
    watch = _Watch()
    try:
        async with asyncio.timeout(deadline_s):
            await _listen(speaker, watch)
    except InferenceFault as fault:
        return _failed(fault, _since_ms(started_s))
    except TimeoutError:
        late = InferenceFault(
            "inference_timeout", f"no whole answer within {deadline_s:g} seconds", retryable=True
        )
        return _failed(late, _since_ms(started_s))
    closing = watch.closing
    return CheckReport(
        ok=True,
        latency_ms=_since_ms(started_s),
        first_piece_ms=None
        if watch.first_piece_s is None
        else round((watch.first_piece_s - started_s) * 1e3),
        streams=AT_ONCE_NOTE not in closing.notes,
        reports_usage=closing.usage is not None,
        model=closing.model,
        notes=closing.notes,
    )


class _Watch:
    """What was heard."""

    def __init__(self) -> None:
        self.first_piece_s: float | None = None
        self.closing = Closing(finish_reason="unknown")

    def hear(self, piece: Piece) -> None:
        if isinstance(piece, Closing):
            self.closing = piece
        elif self.first_piece_s is None:
            self.first_piece_s = time.perf_counter()


async def _listen(speaker: Speaker, watch: _Watch) -> None:
    question = (Message(role="user", content="Reply with the single word: ready"),)
    async with aclosing(speaker.attempt(question, AttemptOptions())) as pieces:
        async for piece in pieces:
            watch.hear(piece)


def _failed(fault: InferenceFault, latency_ms: int) -> CheckReport:
    sentence = fault.message[:1].upper() + fault.message[1:].rstrip(".") + "."
    advice = _NOT_FOUND_ADVICE if fault.status == HTTPStatus.NOT_FOUND else _ADVICE.get(fault.code)
    return CheckReport(
        ok=False,
        latency_ms=latency_ms,
        code=fault.code,
        status=fault.status,
        fault=f"{sentence} {advice}" if advice else sentence,
    )


def _since_ms(started_s: float) -> int:
    return round((time.perf_counter() - started_s) * 1e3)
