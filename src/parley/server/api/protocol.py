"""What uvicorn's protocol leaves open: a bound for the head of a request, and bodies for HTTP/1.0."""

from __future__ import annotations

from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

MAX_HEAD_BYTES: Final = 65_536
"""Request line and headers together, counted from the second read on; servers in front bound theirs lower."""


class HttpProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which keeps heads of any size and sends chunks to everyone, taught better.

    A head longer than `MAX_HEAD_BYTES` is refused with 400 and the connection closed: whoever sends it has
    shown no key yet. A client of HTTP/1.0 gets a body of unknown length that ends with the connection.
    """

    _head_bytes: int | None = None
    """Read of the head under way since the read it began in; None between heads."""

    def on_message_begin(self) -> None:
        """A head begins."""
        self._head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head has ended."""
        self._head_bytes = None
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Read on, unless the head has grown too long."""
        if self._head_bytes is not None:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self.send_400_response("The head of the request is too long.")
                return
        super().data_received(data)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        if cycle.scope["http_version"] == "1.0":
            app = _without_chunks(app, cycle)
        super()._start_asgi_task(cycle, app)


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
