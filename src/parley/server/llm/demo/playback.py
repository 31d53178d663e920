"""Writes the steps of one answer at its pace, never faster than the client reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from parley.server.llm.demo.answers import Answer, Pause, Step

WRITE_AT_MOST_BYTES = 1 << 18
"""Bytes gathered into one write when nothing asks for a pause."""
LAST_CHUNK = b"0\r\n\r\n"


class Playback:
    """One answer on its way. `on_end` is called once everything has been written."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        transport: asyncio.Transport,
        answer: Answer,
        head: bytes,
        *,
        chunked: bool,
        on_end: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._transport = transport
        self._steps: Iterator[Step] = iter(answer.steps)
        self._gap_s = answer.gap_ms / 1000
        self._closing = LAST_CHUNK if chunked and answer.ending == "finish" else b""
        self._head = head
        self._chunked = chunked
        self._on_end = on_end
        self._timer: asyncio.Handle | None = None
        self._due_s = 0.0
        self._paused = False

    def start(self, latency_s: float) -> None:
        """Begin after `latency_s`."""
        self._due_s = self._loop.time() + latency_s
        if latency_s > 0:
            self._timer = self._loop.call_at(self._due_s, self._advance)
        else:
            self._advance()

    def stop(self) -> None:
        """Write nothing more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def pause(self) -> None:
        """The client reads slower than we write."""
        self._paused = True

    def resume(self) -> None:
        """The client has caught up."""
        if self._paused:
            self._paused = False
            if self._timer is None:
                self._advance()

    def _advance(self) -> None:
        self._timer = None
        if self._paused:
            return
        out, wait_s = self._gather()
        if wait_s is None:
            self._transport.write(out + self._closing)
            self._on_end()
            return
        self._transport.write(out)
        self._due_s = max(self._due_s + wait_s, self._loop.time())
        self._timer = self._loop.call_at(self._due_s, self._advance)

    def _gather(self) -> tuple[bytes, float | None]:
        """What to write now, and how long to wait after it; None after the last step."""
        out, size, chunked, gap_s = [self._head], 0, self._chunked, self._gap_s
        self._head = b""
        for step in self._steps:
            if isinstance(step, Pause):
                return b"".join(out), step.ms / 1000
            out.append(b"%x\r\n%b\r\n" % (len(step), step) if chunked else step)
            size += len(step)
            if gap_s > 0:
                return b"".join(out), gap_s
            if size > WRITE_AT_MOST_BYTES:
                return b"".join(out), 0.0
        return b"".join(out), None
