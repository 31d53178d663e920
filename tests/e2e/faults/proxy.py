"""A TCP link that can be slow, silent, deaf, cut or closed: what a bad network looks like to a process."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

_CHUNK: Final = 65_536


class Link:
    """Forwards one port of 127.0.0.1 to `target`, which may change while it runs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.target = ("127.0.0.1", 0)
        self.port = 0
        self.delay_s = 0.0
        """How long every piece waits on its way, in both directions."""
        self.refuses = False
        """Whether new connections are reset at once."""
        self.loses_answers = False
        """Whether what the server says is dropped, while what it is told arrives."""
        self.tries = 0
        """Connections that were asked for, given or not."""
        self._writers: set[asyncio.StreamWriter] = set()
        self._carries = asyncio.Event()
        self._carries.set()

    @classmethod
    @contextlib.asynccontextmanager
    async def opened(cls, name: str) -> AsyncIterator[Link]:
        """A link that listens while the block runs."""
        link = cls(name)
        server = await asyncio.start_server(link._carry, "127.0.0.1", 0, backlog=512)
        link.port = server.sockets[0].getsockname()[1]
        try:
            yield link
        finally:
            server.close()
            link.refuses = True
            link.cut()

    def cut(self) -> None:
        """Reset every open connection; new ones are taken."""
        self._carries.set()
        for writer in list(self._writers):
            writer.transport.abort()

    def stall(self) -> None:
        """Let nothing through, and leave all connections open."""
        self._carries.clear()

    def mend(self) -> None:
        """Be a good link again. What was held back arrives; what was lost stays lost."""
        self.delay_s, self.refuses, self.loses_answers = 0.0, False, False
        self._carries.set()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tries += 1
        if self.refuses:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(*self.target)
        except OSError:
            writer.transport.abort()
            return
        both = {writer, far_writer}
        self._writers |= both
        try:
            await asyncio.gather(
                self._pump(reader, far_writer, is_answer=False),
                self._pump(far_reader, writer, is_answer=True),
            )
        finally:
            self._writers -= both

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool
    ) -> None:
        # uvloop says RuntimeError where a connection was reset meanwhile.
        with contextlib.suppress(OSError, RuntimeError):
            while data := await reader.read(_CHUNK):
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                await self._carries.wait()
                if is_answer and self.loses_answers:
                    continue
                writer.write(data)
                await writer.drain()
        writer.transport.abort()
