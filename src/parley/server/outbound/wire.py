"""One HTTP/1.1 connection that carries one exchange at a time: a request as bytes, its answer as it comes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final, cast

import httptools

MAX_HEAD_BYTES: Final = 65_536
"""Of an answer's head, read before the first byte of its body, and as much between two pieces of a body."""
BUFFERED_BYTES: Final = 65_536
"""Of a body that nobody reads; then the socket is no longer listened to."""


class MalformedAnswer(ConnectionError):
    """What came is no HTTP answer, or one with a head beyond all bounds."""


class AnswerCut(ConnectionError):
    """The connection was lost before the answer had come to its end."""


@dataclass(slots=True)
class Head:
    """The head of an answer. Names are lower case; of a repeated header the first value is kept."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def is_framed(self) -> bool:
        """Whether the body says where it ends; another one ends with its connection."""
        coding = self.headers.get("transfer-encoding", "")
        return "content-length" in self.headers or coding.lower().endswith("chunked")


class Wire(asyncio.Protocol):
    """The protocol of one connection.

    `ask`, then `read` until it gives nothing. A wire whose exchange is over and that `may_stay` can be asked
    again; any other has to be closed. Not to be used by two at once.
    """

    comes_from_inside = False
    """The other end is one of the operator's exceptions, whose words are not shown."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._coming = Head()
        self._has_head = self._has_end = self._stays = False
        self._chunks: list[bytes] = []
        self._buffered = 0
        self._dry_bytes = 0
        self._fed_body = False
        self._is_paused = False
        self._fault: ConnectionError | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._lost: asyncio.Future[None] = self._loop.create_future()

    # what is asked of it

    async def ask(self, request: bytes) -> Head:
        """Send a whole request; the head of its answer. Raises `MalformedAnswer`, `ConnectionError`."""
        transport = self._transport
        if transport is None or transport.is_closing():
            raise AnswerCut
        self._coming, self._has_head, self._has_end = Head(), False, False
        self._dry_bytes = 0
        self._parser = parser = httptools.HttpResponseParser(self)
        parser.set_dangerous_leniencies(  # as browsers and curl read; sloppy servers are many
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        transport.write(request)
        while not self._has_head:
            await self._stirred()
        return self._coming

    async def read(self) -> bytes:
        """What has come of the body; nothing once all of it was read. Raises `ConnectionError`."""
        while not self._chunks:
            if self._has_end:
                return b""
            await self._stirred()
        chunks = self._chunks
        data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        self._chunks, self._buffered = [], 0
        if self._is_paused:
            self._listen()
        return data

    async def gather(self, seconds: float) -> None:
        """Let what comes gather in the kernel: a socket nobody listens to wakes nobody.

        Nothing is waited for once the answer is here to its end.
        """
        if self._has_end or self._fault is not None:
            return
        self._pause()
        try:
            await asyncio.sleep(seconds)
        finally:
            self._listen()

    @property
    def is_open(self) -> bool:
        """Whether something can be asked."""
        return self._transport is not None and not self._transport.is_closing()

    @property
    def may_stay(self) -> bool:
        """Whether the exchange has ended as it should and both sides keep the connection."""
        transport = self._transport
        return (
            self._has_end
            and self._stays
            and not self._chunks
            and transport is not None
            and not transport.is_closing()
            and not transport.get_write_buffer_size()  # the answer came before the request had left
        )

    def close(self) -> None:
        """Close the connection at once, in good order only where nothing is under way."""
        if self._transport is None:
            return
        if self.may_stay:
            self._transport.close()
        else:
            self._transport.abort()

    async def closed(self) -> None:
        """Drop the connection and wait until it is gone."""
        if self._transport is not None:
            self._transport.abort()
            await asyncio.shield(self._lost)

    def peer(self) -> str | None:
        """The address at the other end; None when the connection is already gone."""
        try:
            peer = None if self._transport is None else self._transport.get_extra_info("peername")
        except OSError:  # uvloop asks the socket itself
            return None
        return None if peer is None else str(peer[0])

    # what the loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Read on. What nobody has asked for ends the connection."""
        parser = self._parser
        if parser is None:
            self.close()
            return
        self._fed_body = False
        try:
            parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._break(MalformedAnswer())
        if self._fed_body:
            self._dry_bytes = 0
        else:
            self._dry_bytes += len(data)
            if self._dry_bytes > MAX_HEAD_BYTES and not self._has_end:
                self._break(MalformedAnswer())
        if self._buffered > BUFFERED_BYTES:
            self._pause()
        self._stir()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone. A body that does not say where it ends has ended with it."""
        self._transport = None
        if self._has_head and not self._has_end and exc is None and not self._coming.is_framed:
            self._has_end = True
        self._parser = None
        if not self._has_end and self._fault is None:
            self._fault = AnswerCut()
        if not self._lost.done():
            self._lost.set_result(None)
        self._stir()

    # what the parser tells

    def on_message_begin(self) -> None:
        """An answer begins: ours, or one more than was asked for."""
        if self._has_end:
            self._stays = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header of the head, or one behind the body."""
        if not self._has_head:
            self._coming.headers.setdefault(name.decode("latin-1").lower(), value.decode("latin-1").strip())

    def on_headers_complete(self) -> None:
        """The head has ended; interim ones (100, 103) are passed over."""
        if self._parser is None:  # an answer behind ours
            return
        status = self._parser.get_status_code()
        if 100 <= status < 200:
            return
        self._coming.status = status
        self._has_head = self._fed_body = True

    def on_body(self, data: bytes) -> None:
        """A piece of the body."""
        if not self._has_end:
            self._chunks.append(data)
            self._buffered += len(data)
            self._fed_body = True

    def on_message_complete(self) -> None:
        """The answer has ended."""
        if not self._has_head:
            self._coming = Head()
        elif self._parser is not None:
            self._has_end = True
            self._stays = self._parser.should_keep_alive()
            self._parser = None  # the two hold each other

    # inside

    async def _stirred(self) -> None:
        """Wait until something happens. Raises what has already ended the connection."""
        if self._fault is not None:
            raise self._fault
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _stir(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _break(self, fault: ConnectionError) -> None:
        if self._has_end:
            self._stays = False  # what is wrong lies behind the answer
        else:
            self._fault = fault
        self._parser = None
        self.close()

    def _pause(self) -> None:
        if self._transport is not None and not self._is_paused and not self._transport.is_closing():
            self._is_paused = True
            self._transport.pause_reading()

    def _listen(self) -> None:
        if self._is_paused:
            self._is_paused = False
            if self._transport is not None and not self._transport.is_closing():
                self._transport.resume_reading()
