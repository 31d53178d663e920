"""What uvicorn's protocol leaves open: bounds for requests that are long or slow, and bodies for HTTP/1.0."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from parley.server.errors import RequestTooSlow

MAX_HEAD_BYTES: Final = 65_536
"""Request line and headers together, counted from the second read on; servers in front bound theirs lower."""
ANSWER_S: Final = 2.0
"""How much longer than a body may take its connection stays: the app has answered by then."""


class HttpProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which waits for ever, keeps heads of any size and sends chunks to everyone, taught
    better.

    A head longer than `MAX_HEAD_BYTES` is refused with 400, one that is not there after `head_s` seconds
    with 408, and the connection closed: whoever sends it has shown no key yet. A body that is not there
    after `body_s` seconds is refused by the app; here its connection is closed, also if it has been answered
    before it was whole. A client of HTTP/1.0 gets a body of unknown length that ends with the connection.
    """

    head_s: float
    body_s: float

    _head_bytes: int | None = None
    """Read of the head under way since the read it began in; None between heads."""
    _reads_body = False
    _patience: asyncio.TimerHandle | None = None
    """Ends with the head or body under way; between requests uvicorn's own patience counts."""

    @classmethod
    def patient_for(cls, *, head_s: float, body_s: float) -> type[HttpProtocol]:
        """The protocol with its bounds, seconds: uvicorn makes one for each connection."""
        return type(cls.__name__, (cls,), {"head_s": head_s, "body_s": body_s})

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The first head is waited for."""
        super().connection_made(transport)
        self._wait(self.head_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._wait(None)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A head begins."""
        self._head_bytes = 0
        if self._patience is None:
            self._wait(self.head_s)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head has ended."""
        self._head_bytes = None
        self._reads_body = True
        self._wait(None)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The body has ended."""
        self._reads_body = False
        self._wait(None)
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        """Read on, unless the head has grown too long."""
        if self._head_bytes is not None:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self.send_400_response("The head of the request is too long.")
                return
        elif not self._reads_body and self._patience is None:
            self._wait(self.head_s)  # empty lines, too, have ended the patience between requests
        super().data_received(data)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        if self._reads_body:
            self._wait(self.body_s + ANSWER_S)
        if cycle.scope["http_version"] == "1.0":
            app = _without_chunks(app, cycle)
        super()._start_asgi_task(cycle, app)

    def _wait(self, seconds: float | None) -> None:
        if self._patience is not None:
            self._patience.cancel()
        self._patience = None if seconds is None else self.loop.call_later(seconds, self._lose_patience)

    def _lose_patience(self) -> None:
        self._patience = None
        last: RequestResponseCycle | None = self.cycle
        is_answering = last is not None and not last.response_complete
        if is_answering and not self._reads_body:
            self._wait(self.head_s)  # a request that came early; the one before it is still being answered
        elif not self.transport.is_closing():
            if self._head_bytes is not None:
                self.transport.write(_answer(RequestTooSlow()))
            self.transport.close()


def _answer(error: RequestTooSlow) -> bytes:
    """A whole response, for a request that no app will ever see."""
    body = orjson.dumps({"error": error.text, "code": error.code, "details": error.details})
    head = (
        f"HTTP/1.1 {error.status} Request Timeout\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


def _without_chunks(app: ASGIApp, cycle: RequestResponseCycle) -> ASGIApp:
    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        has_length = True

        async def send_plain(message: Message) -> None:
            nonlocal has_length
            if message["type"] == "http.response.start":
                names = {name.lower() for name, _ in message["headers"]}
                has_length = b"content-length" in names
                cycle.chunked_encoding = None if has_length else False
            elif not has_length:
                cycle.expected_content_length += len(message.get("body", b""))
            await send(message)

        await app(scope, receive, send_plain)

    return served
