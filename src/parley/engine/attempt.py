"""One attempt at an inference, with its limits: what came, and how it ended."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from parley.engine.chat.faults import FaultCode, InferenceFault
from parley.engine.chat.pieces import Closing, Usage
from parley.engine.chat.usage import usage_of
from parley.engine.events import Timing
from parley.engine.messages import Message, Part, Reasoning, Refusal, Text
from parley.engine.patience import Patience, WaitEnded
from parley.engine.ports import AttemptOptions, Clock, Speaker

_WORDS: dict[FaultCode, str] = {
    "first_token_timeout": "No answer began in time.",
    "idle_timeout": "The answer stopped in the middle, without an end.",
    "inference_timeout": "The answer took longer than one inference may take.",
}


class Attempt:
    """Iterate `parts()` to its end, then read how it went.

    Exactly one of `closing`, `fault` and `stopped` tells how the attempt ended.
    """

    def __init__(
        self,
        speaker: Speaker,
        messages: Sequence[Message],
        options: AttemptOptions,
        patience: Patience,
        clock: Clock,
    ) -> None:
        self._speaker = speaker
        self._messages = messages
        self._options = options
        self._patience = patience
        self._clock = clock
        self._began_s = clock.monotonic_s()
        self._first_s: float | None = None
        self.received: list[Part] = []
        self.closing: Closing | None = None
        self.fault: InferenceFault | None = None
        self.stopped = False

    async def parts(self) -> AsyncGenerator[Part, None]:
        """The parts as they come. Ends silently at a fault or a stop."""
        self._patience.begin()
        try:
            async with aclosing(self._speaker.attempt(self._messages, self._options)) as pieces:
                while True:
                    piece = await self._patience.next(pieces)
                    if isinstance(piece, Closing):
                        self.closing = piece
                        return
                    if self._first_s is None:
                        self._first_s = self._clock.monotonic_s()
                    self.received.append(piece)
                    yield piece
        except StopAsyncIteration:
            self.fault = InferenceFault("stream_cut", "The answer ended without an end.", retryable=True)
        except InferenceFault as fault:
            self.fault = fault
        except WaitEnded as ended:
            if ended.limit == "stopped":
                self.stopped = True
            else:
                self.fault = InferenceFault(ended.limit, _WORDS[ended.limit], retryable=True)

    def usage(self) -> Usage:
        """What the complete attempt used: as reported, else estimated and marked."""
        closing = self.closing
        return usage_of(
            closing.usage if closing else None,
            model=(closing.model if closing else None) or self._speaker.model,
            messages=self._messages,
            parts=self.received,
        )

    def spent_usage(self) -> Usage | None:
        """What an attempt that is not kept used; None, which is free, when nothing came."""
        if self.fault and self.fault.usage:
            return self.fault.usage
        return self.usage() if self.received or self.closing else None

    def timing(self) -> Timing:
        """When the attempt ended, and how long it took."""
        now_s = self._clock.monotonic_s()
        return Timing(
            at_ms=self._clock.now_ms(),
            took_ms=round((now_s - self._began_s) * 1000),
            first_piece_ms=None if self._first_s is None else round((self._first_s - self._began_s) * 1000),
        )


def merged(parts: Sequence[Part]) -> list[Part]:
    """`parts` with neighbouring words of one kind joined, in order."""
    whole: list[Part] = []
    words: list[str] = []
    kind: type[Text | Reasoning | Refusal] = Text

    def close() -> None:
        if words:
            whole.append(kind(text="".join(words)))
            words.clear()

    for part in parts:
        if not isinstance(part, Text | Reasoning | Refusal):
            close()
            whole.append(part)
            continue
        if type(part) is not kind:
            close()
            kind = type(part)
        words.append(part.text)
    close()
    return whole
