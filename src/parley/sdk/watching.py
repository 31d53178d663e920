"""Reading a stream of events to its end: what is asked for, what came, and when to come back. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parley.sdk.call import NO_BODY, Method
from parley.sdk.errors import StreamBroken
from parley.sdk.frames import FrameReader
from parley.sdk.retries import RetryPolicy

if TYPE_CHECKING:
    from parley.sdk.events import Event

SILENCE_S = 60.0
"""Without a byte for so long the connection is dead: the service sends a comment at least every 30 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A stream as it is asked for. One that `is_kept` can be read again from any event on."""

    path: str
    method: Method = "GET"
    body: object = NO_BODY
    is_kept: bool = True
    last_event_id: str | None = None


class Watch:
    """One reader of one stream, over as many connections as it takes."""

    def __init__(self, stream: Stream, policy: RetryPolicy) -> None:
        # Who reads no stream does not pay for the many kinds of events.
        from parley.sdk.events import read_event

        self._read = read_event
        self._stream = stream
        self._policy = policy
        self._last_id = stream.last_event_id
        self._frames = FrameReader()
        self._breaks = 0
        self.is_over = False

    @property
    def headers(self) -> Mapping[str, str]:
        """What the next connection asks with."""
        asked = {"Accept": "text/event-stream"}
        return asked | ({"Last-Event-ID": self._last_id} if self._last_id else {})

    def opened(self) -> None:
        """A connection begins: half a message of the one before is not continued."""
        self._frames = FrameReader()

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events that end within `chunk`; none behind the last one."""
        for message in self._frames.feed(chunk):
            event = self._read(message)
            self._last_id = event.id or self._last_id
            self._breaks = 0
            self.is_over = event.is_last
            yield event
            if self.is_over:
                return

    def broke(self, reason: str, chance: float) -> float:
        """The wait before the next connection. Raises `StreamBroken` when there should be none."""
        self._breaks += 1
        wait_s = self._policy.wait_s(self._breaks, chance) if self._stream.is_kept else None
        if wait_s is None:
            hint = "" if self._stream.is_kept else " Nothing of it is stored; start it again."
            raise StreamBroken(f"The stream broke off: {reason.rstrip('.')}.{hint}")
        return wait_s
