"""A customer's server on 127.0.0.1 that notes what it was sent and answers as the test wants, also badly."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it came. Header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body's value."""
        return orjson.loads(self.body)

    @property
    def event(self) -> str:
        """The name of a hook's event."""
        name: str = self.json["event"]["name"]
        return name


Play: TypeAlias = Callable[[asyncio.StreamWriter], Awaitable[None]]


class Receiver:
    """Answers each path with what `on` was given for it, else with 200 and "ok"."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.connections = 0
        self.port = 0
        self._plays: dict[str, Play] = {}

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        """The address of a path."""
        return f"http://{host}:{self.port}{path}"

    def on(self, path: str, play: Play) -> str:
        """Answer a path in this way from now on; gives its address."""
        self._plays[path] = play
        return self.url(path)

    def at(self, path: str) -> list[Call]:
        """The calls of one path."""
        return [call for call in self.calls if call.path == path]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.connections += 1
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while True:
                    call = await _read(reader)
                    self.calls.append(call)
                    await self._plays.get(call.path, says(200))(writer)
                    await writer.drain()
                    if writer.is_closing():
                        break
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Call:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    method, path, _ = head[0].split(" ")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Call(method, path, headers, body)


@contextlib.asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """A receiver on a free port."""
    receiver = Receiver()
    holding: set[asyncio.Task[None]] = set()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        holding.add(task)
        try:
            await receiver.serve(reader, writer)
        except asyncio.CancelledError:
            writer.close()
        finally:
            holding.discard(task)

    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        for task in holding:
            task.cancel()
        await asyncio.gather(*holding, return_exceptions=True)


def says(status: int, body: bytes = b"ok", content_type: str = "text/plain", **headers: str) -> Play:
    """A whole answer; underscores in names of headers are hyphens."""
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}"]
    lines += [f"Content-Type: {content_type}"] if content_type else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]

    async def play(writer: asyncio.StreamWriter) -> None:
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)

    return play


def bombs(unpacked_bytes: int = 20_000_000) -> Play:
    """A small answer that unpacks to a large one."""
    return says(200, gzip.compress(b"A" * unpacked_bytes), Content_Encoding="gzip")


def floods(total_bytes: int = 10_000_000) -> Play:
    """A large answer, sent as fast as it is taken."""

    async def play(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n")
        writer.write(b"Content-Length: %d\r\n\r\n" % total_bytes)
        for _ in range(total_bytes // 100_000):
            writer.write(b"x" * 100_000)
            await writer.drain()

    return play


async def drips(writer: asyncio.StreamWriter) -> None:
    """An answer that never ends, a byte at a time."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.02)


async def waits(_writer: asyncio.StreamWriter) -> None:
    """No answer at all."""
    await asyncio.Event().wait()


async def hangs_up(writer: asyncio.StreamWriter) -> None:
    """The connection is closed instead of an answer."""
    writer.close()


async def hangs_up_early(writer: asyncio.StreamWriter) -> None:
    """The connection is closed in the middle of the body."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nhalf")
    writer.close()
