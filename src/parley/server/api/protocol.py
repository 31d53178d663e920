"""HTTP/1.0 as its clients read it: a body of unknown length ends with the connection, not in chunks."""

from __future__ import annotations

from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle


class HttpProtocol(HttpToolsProtocol):
    """uvicorn's protocol, which sends chunks to everyone, taught about those who cannot read them."""

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
