"""One HTTP connection: requests are read, answered in order, and watched for clients that leave."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

import httptools

from parley.server.llm.demo.answers import Answer, error_fields, json_answer
from parley.server.llm.demo.playback import Playback
from parley.server.llm.demo.request import BadRequestError, read_request
from parley.server.llm.demo.routes import Route, route, served
from parley.server.llm.demo.space import LoggedRequest, RequestEnding, Space, Stats

if TYPE_CHECKING:
    from parley.server.llm.demo.server import DemoServer

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_PHRASES = {status.value: status.phrase for status in HTTPStatus}


@dataclass(slots=True)
class Incoming:
    """One request as read from the wire."""

    url: bytes = b""
    method: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: list[bytes] = field(default_factory=list)
    keeps_alive: bool = True
    takes_chunks: bool = True


class Connection(asyncio.Protocol):
    """The server's side of one connection."""

    def __init__(self, server: DemoServer) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._incoming = Incoming()
        self._queue: deque[Incoming] = deque()
        self._busy = False
        self._playback: Playback | None = None
        self._watched: tuple[Space, LoggedRequest] | None = None
        self._counted_in: set[Stats] = set()

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the transport."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's has the methods, not the class
        self._parser = httptools.HttpRequestParser(self)
        self._server.connections.add(self)

    def connection_lost(self, _exc: Exception | None) -> None:
        """The client has left, or we have."""
        self._server.connections.discard(self)
        self._queue.clear()
        if self._playback is not None:
            self._playback.stop()
        self._note("cancelled")

    def data_received(self, data: bytes) -> None:
        """Feed the parser; anything but HTTP closes the connection."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._transport.close()
            return
        if not self._busy:  # not from the parser's callbacks: it would swallow our own errors
            self._answer_next()

    def pause_writing(self) -> None:
        """The write buffer is full."""
        if self._playback is not None:
            self._playback.pause()

    def resume_writing(self) -> None:
        """The write buffer has room again."""
        if self._playback is not None:
            self._playback.resume()

    def abandon(self) -> None:
        """Close at once, as the server stops."""
        self._transport.abort()

    # What the parser calls

    def on_message_begin(self) -> None:
        """A request begins."""
        self._incoming = Incoming()

    def on_url(self, url: bytes) -> None:
        """A piece of the target."""
        self._incoming.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        self._incoming.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """All headers are read."""
        incoming = self._incoming
        incoming.method = self._parser.get_method().decode("latin-1")
        incoming.keeps_alive = self._parser.should_keep_alive()
        incoming.takes_chunks = self._parser.get_http_version() != "1.0"
        if incoming.headers.get("expect", "").lower() == "100-continue":
            self._transport.write(_CONTINUE)

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._incoming.body.append(body)

    def on_message_complete(self) -> None:
        """A whole request is there."""
        self._queue.append(self._incoming)

    # Answering

    def _answer_next(self) -> None:
        if not self._queue or self._transport.is_closing():
            return
        self._busy = True
        incoming = self._queue.popleft()
        target = route(incoming.url.decode("latin-1"), self._server)
        body = b"".join(incoming.body)
        if target.is_chat and incoming.method == "POST":
            answer = self._chat(target, incoming, body)
        else:
            answer = served(target, incoming.method, body, self._server)
        self._send(answer, incoming)

    def _chat(self, target: Route, incoming: Incoming, body: bytes) -> Answer:
        try:
            request = read_request(body, incoming.headers)
        except BadRequestError as error:
            return json_answer(error_fields(str(error), None), 400)
        stats = target.space.stats
        if stats not in self._counted_in:
            self._counted_in.add(stats)
            stats.connections_seen += 1
        answer, logged = target.space.answer(request, body)
        self._watched = (target.space, logged)
        return answer

    def _send(self, answer: Answer, incoming: Incoming) -> None:
        chunked = answer.length is None and incoming.takes_chunks and not answer.bare
        closes = not incoming.keeps_alive or answer.bare or (answer.length is None and not chunked)
        head = b"" if answer.bare or answer.silent else _head(answer, chunked=chunked, closes=closes)

        def ended() -> None:
            self._playback = None
            self._leave(answer, closes=closes)

        chunked = chunked and not answer.silent
        self._playback = Playback(self._loop, self._transport, answer, head, chunked=chunked, on_end=ended)
        self._playback.start(answer.latency_ms / 1000)

    def _leave(self, answer: Answer, *, closes: bool) -> None:
        if answer.ending == "hang":
            return
        self._note("answered" if answer.ending == "finish" else "broken")
        if answer.ending == "reset":
            _reset(self._transport)
        elif answer.ending == "cut" or closes:
            self._transport.close()
        else:
            self._busy = False
            self._answer_next()

    def _note(self, ending: RequestEnding) -> None:
        if self._watched is not None:
            space, logged = self._watched
            self._watched = None
            space.end(logged, ending)


def _head(answer: Answer, *, chunked: bool, closes: bool) -> bytes:
    lines = [
        f"HTTP/1.1 {answer.status} {_PHRASES.get(answer.status, 'Scripted')}",
        f"content-type: {answer.content_type}",
    ]
    if chunked:
        lines += ["cache-control: no-cache", "transfer-encoding: chunked"]
    elif answer.length is not None:
        lines.append(f"content-length: {answer.length}")
    if closes:
        lines.append("connection: close")
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _reset(transport: asyncio.Transport) -> None:
    """Close with RST in place of FIN."""
    raw = transport.get_extra_info("socket")
    if raw is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
