"""A TCP forwarder that can be cut: what a lost network looks like to a client."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Cable:
    """Forwards one port of 127.0.0.1 until it is cut, or stops carrying anything."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._writers: set[asyncio.StreamWriter] = set()
        self._is_cut = False
        self._carries = asyncio.Event()
        self._carries.set()
        self.port = 0

    @classmethod
    @contextlib.asynccontextmanager
    async def to(cls, host: str, port: int) -> AsyncIterator[Cable]:
        """A cable to `host` and `port` while the block runs."""
        cable = cls(host, port)
        server = await asyncio.start_server(cable._carry, "127.0.0.1", 0)
        cable.port = server.sockets[0].getsockname()[1]
        try:
            yield cable
        finally:
            server.close()
            cable.cut()

    def cut(self) -> None:
        """End all connections at once and take no new ones."""
        self._is_cut = True
        self._carries.set()
        for writer in self._writers:
            writer.transport.abort()

    def silence(self) -> None:
        """Leave connections open, but let nothing through."""
        self._carries.clear()

    def mend(self) -> None:
        """Take connections again."""
        self._is_cut = False

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        far_reader, far_writer = await asyncio.open_connection(*self._target)
        self._writers |= {writer, far_writer}
        await asyncio.gather(self._pump(reader, far_writer), self._pump(far_reader, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65_536):
                await self._carries.wait()
                writer.write(data)
                await writer.drain()
        writer.transport.abort()
