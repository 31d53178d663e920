"""Counts the statements that pass between our processes and Postgres, by listening in between."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_PROTOCOL_3 = 3 << 16
_NOT_COUNTED = ("BEGIN", "COMMIT", "ROLLBACK")
_READ_BYTES = 1 << 16


class _Heard:
    """What one connection has said, read message by message."""

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts
        self._bytes = b""
        self._is_started = False
        self._prepared: dict[bytes, str] = {}
        self._bound: dict[bytes, str] = {}

    def feed(self, data: bytes) -> None:
        self._bytes += data
        for kind, body in self._messages():
            match kind:
                case b"P":
                    name, query, *_ = body.split(b"\0")
                    self._prepared[name] = query.decode()
                case b"B":
                    portal, name, *_ = body.split(b"\0")
                    self._bound[portal] = self._prepared.get(name, "unknown")
                case b"E":
                    self._count(self._bound.get(body.split(b"\0")[0], "unknown"))
                case b"Q":
                    self._count(body.rstrip(b"\0").decode())

    def _messages(self) -> Iterator[tuple[bytes, bytes]]:
        """Whole messages. Those before the session begins carry no kind."""
        while True:
            head = 1 if self._is_started else 0
            if len(self._bytes) < head + 4:
                return
            (length,) = struct.unpack_from("!i", self._bytes, head)
            if len(self._bytes) < head + length:
                return
            kind, body = self._bytes[:head], self._bytes[head + 4 : head + length]
            self._bytes = self._bytes[head + length :]
            if not self._is_started:
                self._is_started = struct.unpack_from("!i", body)[0] == _PROTOCOL_3
            yield kind, body

    def _count(self, statement: str) -> None:
        words = " ".join(statement.split())
        if words and not words.upper().startswith(_NOT_COUNTED):
            self._counts[words[:90]] += 1


class StatementListener:
    """A way to the database at `url` that counts. Enter it, use `self.url`, read `counts`."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="statement-listener")
        self.counts: Counter[str] = Counter()

    def __enter__(self) -> Self:
        self._thread.start()
        port = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        address = self._target.netloc.rpartition(":")[0]
        self.url = self._target._replace(netloc=f"{address}:{port}").geturl()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _listen(self) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection(self._target.hostname, self._target.port)
        heard = _Heard(self.counts)
        await asyncio.gather(_pass_on(reader, there_writer, heard), _pass_on(there_reader, writer, None))


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, heard: _Heard | None) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_READ_BYTES):
            if heard:
                heard.feed(data)
            writer.write(data)
            await writer.drain()
    writer.close()
