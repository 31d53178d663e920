"""Server-sent events: one JSON line each, sent in batches, with a comment in long silences."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from parley.server.conversation.narrate import WireEvent
from parley.server.errors import DatabaseAway
from parley.server.kit.tasks import end_tasks

BATCH_S = 0.05
"""One send every 50 ms, like the live bus: below what a reader notices, at a fraction of a send an event."""
PING = b": ping\n\n"
FAREWELL_S = 2.0
"""Wait for the terminal event of a stream that we end; as long as a cancellation may take."""

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store, no-transform"),
    (b"x-accel-buffering", b"no"),
]


def encoded(event: WireEvent) -> bytes:
    """One event as it is sent: an `id:` line and one `data:` line.

    Line separators that some readers split at (U+0085, U+2028, U+2029) are escaped.
    """
    body = {"timestamp": event.at_ms, "event": {"type": event.type, "data": event.data}}
    data = orjson.dumps(body)
    if not data.isascii():
        for raw, escape in _SEPARATORS:
            data = data.replace(raw, escape)
    return b"id: %b\ndata: %b\n\n" % (event.id.encode(), data)


_SEPARATORS = (
    (b"\xc2\x85", b"\\u0085"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long silences may be, and how slow a reader."""

    ping_s: float
    """Silence before a comment is sent, seconds."""
    most_waiting_bytes: int
    """What a reader may be behind before the conversation waits for it; looked at after each entry."""
    stalled_s: float
    """A reader that takes nothing for so long has left, though its connection is still open. Seconds."""


class Outgoing:
    """What waits to be sent: filled by the conversation, emptied by the response."""

    def __init__(self, patience: Patience, gathered: Callable[[], Iterable[WireEvent]] = tuple) -> None:
        """`gathered` is asked, when a batch leaves, for what was not worth an event before (`stir`)."""
        self._patience = patience
        self._gathered = gathered
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._arrived = asyncio.Event()
        self._taken = asyncio.Event()
        self._is_closed = False

    def put(self, events: Iterable[WireEvent]) -> None:
        """Send these events, in order."""
        for event in events:
            line = encoded(event)
            self._waiting.append(line)
            self._waiting_bytes += len(line)
            self._arrived.set()

    def stir(self) -> None:
        """There is something to be gathered."""
        self._arrived.set()

    async def has_room(self) -> bool:
        """Wait until little enough is waiting. False if the reader takes nothing for too long."""
        while self._waiting_bytes > self._patience.most_waiting_bytes:
            self._taken.clear()
            try:
                async with asyncio.timeout(self._patience.stalled_s):
                    await self._taken.wait()
            except TimeoutError:
                return False
        return True

    def close(self) -> None:
        """Nothing more will come."""
        self._is_closed = True
        self._arrived.set()

    async def batches(self) -> AsyncGenerator[bytes, None]:
        """What to send: the first event at once, later ones every `BATCH_S`, a ping after silence."""
        while True:
            if not self._arrived.is_set() and not await self._arrives():
                yield PING
                continue
            self.put(self._gathered())
            self._arrived.clear()
            is_last = self._is_closed
            batch, self._waiting = b"".join(self._waiting), []
            if batch:
                yield batch
            self._waiting_bytes -= len(batch)
            self._taken.set()
            if is_last:
                return
            await asyncio.sleep(BATCH_S)

    async def _arrives(self) -> bool:
        """Wait for something to send. False after a long silence."""
        try:
            async with asyncio.timeout(self._patience.ping_s):
                await self._arrived.wait()
        except TimeoutError:
            return False
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRules:
    """What holds for all open streams of this process. Seconds; `closing` is set when it stops."""

    ping_s: float = 15.0
    check_s: float = 5.0
    closing: asyncio.Event = field(default_factory=asyncio.Event)


class EventStream(Response):
    """Sends batches until they end, the client goes, the caller may not go on, or the process stops.

    `may_go_on` is asked now and then, so that a revoked key ends its open streams. `on_leave` is
    called however the stream ends; where it is given, it leads to a terminal event, which is
    waited for unless the client has gone.
    """

    def __init__(
        self,
        batches: AsyncGenerator[bytes, None],
        rules: StreamRules,
        may_go_on: Callable[[], Awaitable[bool]],
        on_leave: Callable[[], None] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`headers` are sent beside those of every event stream."""
        super().__init__()
        self._more_headers = [
            (name.lower().encode(), value.encode()) for name, value in (headers or {}).items()
        ]
        self._batches = batches
        self._rules = rules
        self._may_go_on = may_go_on
        self._on_leave = on_leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the response."""
        sending = asyncio.create_task(self._send(send), name="sse-send")
        gone = asyncio.create_task(_client_left(receive), name="sse-client-left")
        unwanted = asyncio.create_task(self._unwanted(), name="sse-unwanted")
        tasks = (sending, gone, unwanted)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if self._on_leave:
                self._on_leave()
                await asyncio.wait((sending, gone), timeout=FAREWELL_S, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            if self._on_leave:
                self._on_leave()
            await end_tasks(*tasks)

    async def _send(self, send: Send) -> None:
        headers = [*_HEADERS, *self._more_headers]
        start: dict[str, Any] = {"type": "http.response.start", "status": 200, "headers": headers}
        await send(start)
        async with aclosing(self._batches) as batches:
            async for batch in batches:
                await send({"type": "http.response.body", "body": batch, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _unwanted(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._rules.check_s):
                    await self._rules.closing.wait()
                return
            except TimeoutError:
                pass
            try:
                if not await self._may_go_on():
                    return
            except DatabaseAway:
                continue  # nobody can say now; the next look will


async def _client_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
