"""A raw TCP server on loopback, and a stubbed resolver: nothing here leaves the machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from ipaddress import ip_address
from typing import TypeAlias

import pytest

from parley.server.outbound.address import IpAddress

Play: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class RawServer:
    """Notes what it was sent, then plays its part with the open connection."""

    def __init__(self, play: Play) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self.left = asyncio.Event()
        self.port = 0
        self._play = play

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await self._head(reader):
                self.requests.append(head)
                await self._play(reader, writer)
        except ConnectionError:
            pass
        finally:
            self.left.set()
            writer.close()

    async def _head(self, reader: asyncio.StreamReader) -> bytes:
        with suppress(asyncio.IncompleteReadError):
            return await reader.readuntil(b"\r\n\r\n")
        return b""


class StubLookup:
    """Answers from a script: the n-th lookup gets the n-th list, the last one repeats."""

    def __init__(self, *answers: list[str] | OSError) -> None:
        self.asked: list[str] = []
        self._answers = answers

    async def __call__(self, host: str, _port: int) -> list[IpAddress]:
        answer = self._answers[min(len(self.asked), len(self._answers) - 1)]
        self.asked.append(host)
        if isinstance(answer, OSError):
            raise answer
        return [ip_address(text) for text in answer]


Serve: TypeAlias = Callable[[Play], Awaitable[RawServer]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Starts raw servers on 127.0.0.1."""
    async with AsyncExitStack() as stack:

        async def start(play: Play) -> RawServer:
            raw = RawServer(play)
            server = await asyncio.start_server(raw.serve, "127.0.0.1", 0)
            raw.port = server.sockets[0].getsockname()[1]
            stack.push_async_callback(server.wait_closed)
            stack.callback(server.close)
            return raw

        yield start


@pytest.fixture
def stub_lookup() -> type[StubLookup]:
    """The stubbed resolver."""
    return StubLookup
