"""The server itself, for use within a process."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self

from parley.server.llm.demo.connection import Connection
from parley.server.llm.demo.script import Rule
from parley.server.llm.demo.space import LoggedRequest, Settings, Space, Stats

BACKLOG = 4096
"""Connections that may wait to be accepted; a bench opens hundreds at once."""


class DemoServer:
    """An OpenAI-compatible server whose llms are scripted.

    `async with DemoServer() as server:` listens on a free port of `host`. `server.base_url` suits an
    OpenAI client; `server.space("name")` is a namespace of its own under `/ns/name`, made on first use,
    with the settings the server was started with. The server's own `play`, `requests`, `stats` and so on
    are those of the namespace without a name.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 0, settings: Settings | None = None) -> None:
        self._host = host
        self._port = port
        self._settings = settings or Settings()
        self._spaces: dict[str, Space] = {}
        self._listener: asyncio.Server | None = None
        self.connections: set[Connection] = set()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen; raises OSError when the port is taken."""
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(
            lambda: Connection(self), self._host, self._port, backlog=BACKLOG
        )
        self._port = self._listener.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening and close every connection."""
        if self._listener is None:
            return
        self._listener.close()
        for connection in list(self.connections):
            connection.abandon()
        await self._listener.wait_closed()
        self._listener = None

    @property
    def address(self) -> str:
        """Scheme, host and port."""
        return f"http://{self._host}:{self._port}"

    @property
    def base_url(self) -> str:
        """What a client takes as its base URL."""
        return self.space().base_url

    def space(self, name: str = "") -> Space:
        """The namespace of that name."""
        found = self._spaces.get(name)
        if found is None:
            found = self._spaces[name] = Space(name, self.address, self._settings)
        return found

    def play(self, *rules: Rule) -> None:
        """Install a script."""
        self.space().play(*rules)

    def configure(self, **changes: Any) -> None:
        """Change some of the settings."""
        self.space().configure(**changes)

    def reset(self) -> None:
        """Forget script, log and counts."""
        self.space().reset()

    @property
    def requests(self) -> list[LoggedRequest]:
        """The request log, oldest first."""
        return list(self.space().requests)

    @property
    def stats(self) -> Stats:
        """The counts."""
        return self.space().stats
