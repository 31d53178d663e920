"""The fleet: Postgres, Redis, one API and two workers as processes, with a link on every way between them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

import aiohttp
from redis.asyncio import Redis

from parley.server.ops.local.ports import free_port
from parley.server.ops.local.postgres import Postgres, PostgresPlan, start_postgres
from parley.server.ops.local.processes import Child, Program
from parley.server.ops.local.valkey import Valkey, ValkeyPlan, start_valkey
from tests.e2e.faults.logs import Strike
from tests.e2e.faults.proxy import Link
from tests.e2e.faults.schedule import PROCESSES
from tests.stage import until

DATABASE: Final = "parley"
PASSWORD: Final = "only-for-this-run"
PREFIX: Final = "parley"
"""Begins every key of Redis."""
LEAVES_WITHIN_S: Final = 20.0
"""What a process has to end in once it is asked to."""
_START_S: Final = 60.0
_PLANTED: Final = Path(__file__).parent / "planted"
_PARLEY: Final = (sys.executable, "-c", "from parley.sdk.cli import main; main()")

T = TypeVar("T")


@dataclass(slots=True)
class Leaving:
    """How a process answered SIGTERM: its exit code (None if it had to be killed) and the time it took."""

    name: str
    code: int | None
    took_s: float


@dataclass(slots=True)
class Fleet:
    """All processes. What starts a process runs in one thread, which lives as long as they may."""

    folder: Path
    links: Mapping[str, Link]
    settings: Mapping[str, str]
    plant: str | None
    starter: ThreadPoolExecutor
    postgres: Postgres | None = None
    redis: Valkey | None = None
    children: dict[str, Child] = field(default_factory=dict)
    leavings: list[Leaving] = field(default_factory=list)
    strikes: list[Strike] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    """Processes that ended though nobody had asked them to."""
    busy: dict[str, asyncio.Lock] = field(default_factory=dict)
    """Who does something to a target holds its lock; faults of one target never overlap."""

    async def off_loop(self, work: Callable[[], T]) -> T:
        """Do something that blocks in the thread that owns all children."""
        return await asyncio.get_running_loop().run_in_executor(self.starter, work)

    def link(self, process: str, server: str) -> Link:
        """The way from a process to `postgres` or `redis`."""
        return self.links[f"{process}>{server}"]

    @property
    def url(self) -> str:
        """The API, as clients reach it."""
        return f"http://127.0.0.1:{self.links['clients>api'].port}"

    @property
    def database_url(self) -> str:
        """The database itself, behind no link."""
        assert self.postgres is not None
        return self.postgres.url(DATABASE)

    def redis_client(self) -> Redis:
        """Redis itself, behind no link."""
        assert self.redis is not None
        client: Redis = Redis.from_url(self.redis.url(), socket_timeout=5)
        return client

    async def start_postgres(self) -> None:
        """Start it, with the data it had."""
        plan = PostgresPlan(folder=self.folder, password=PASSWORD)
        self.postgres = await self.off_loop(lambda: start_postgres(plan))
        for process in PROCESSES:
            self.link(process, "postgres").target = ("127.0.0.1", self.postgres.port)

    async def start_redis(self) -> None:
        """Start it, empty."""
        plan = ValkeyPlan(folder=self.folder, password=None)
        self.redis = await self.off_loop(lambda: start_valkey(plan))
        for process in PROCESSES:
            self.link(process, "redis").target = ("127.0.0.1", self.redis.port)

    async def start(self, name: str) -> None:
        """Start the API or a worker. It is up when this returns: it answers, or asks for Postgres."""
        way = self.link(name, "postgres")
        tries = way.tries
        environment = self._environment(name)
        program = Program(
            name=name,
            argv=[*_PARLEY, name.split("-")[0]],
            log=self.log(name),
            record=self.folder / f"{name}.pid.json",
            env=environment,
        )
        self.children[name] = await self.off_loop(lambda: Child(program))
        if name == "api":
            port = int(environment["PARLEY_API_PORT"])
            await self._until_it_answers(port, self.children[name])
            self.links["clients>api"].target = ("127.0.0.1", port)
        else:
            await until(lambda: way.tries > tries or self.children[name].exit_code() is not None, _START_S)

    def log(self, name: str) -> Path:
        """All that the starts of a process have written."""
        return self.folder / "logs" / f"{name}.log"

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal; a process that is gone already was not asked to be."""
        child = self.children[name]
        if child.exit_code() is not None:
            self.unexpected.append(f"{name} had ended by itself, code {child.exit_code()}")
            return
        os.kill(child.pid, number)

    async def kill(self, name: str) -> None:
        """SIGKILL."""
        self.signal(name, signal.SIGKILL)
        await self.off_loop(self.children[name].kill)

    async def stop(self, name: str) -> Leaving:
        """SIGTERM, and how the process answered it."""
        child, began = self.children[name], time.monotonic()
        self.signal(name, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            await until(lambda: child.exit_code() is not None, LEAVES_WITHIN_S + 10)
        leaving = Leaving(name, child.exit_code(), time.monotonic() - began)
        self.leavings.append(leaving)
        await self.off_loop(child.kill)
        return leaving

    async def close(self) -> None:
        """End everything, gently or not."""
        for child in self.children.values():
            await self.off_loop(child.kill)
        for server in (self.redis, self.postgres):
            if server is not None:
                await self.off_loop(server.stop)

    def _environment(self, name: str) -> dict[str, str]:
        outer = {key: value for key, value in os.environ.items() if not key.startswith("PARLEY_")}
        postgres, redis = self.link(name, "postgres").port, self.link(name, "redis").port
        paths = os.pathsep.join([str(_PLANTED), *filter(None, [outer.get("PYTHONPATH")])])
        planted = {"PYTHONPATH": paths, "FAULTS_PLANT": self.plant} if self.plant else {}
        return {
            **outer,
            **self.settings,
            **planted,
            "PARLEY_DATABASE_URL": f"postgresql://postgres:{PASSWORD}@127.0.0.1:{postgres}/{DATABASE}",
            "PARLEY_REDIS_URL": f"redis://127.0.0.1:{redis}/0",
            "PARLEY_REDIS_PREFIX": PREFIX,
            "PARLEY_API_PORT": str(free_port()),
        }

    async def _until_it_answers(self, port: int, child: Child) -> None:
        async with asyncio.timeout(_START_S), aiohttp.ClientSession() as http:
            while child.exit_code() is None:
                with contextlib.suppress(aiohttp.ClientError, OSError):
                    async with http.get(f"http://127.0.0.1:{port}/livez"):
                        return
                await asyncio.sleep(0.05)
        raise RuntimeError(f"{child.name} did not start: {child.last_lines()}")


@contextlib.asynccontextmanager
async def fleet_in(folder: Path, settings: Mapping[str, str], plant: str | None) -> AsyncIterator[Fleet]:
    """A fleet whose databases run; its processes are still to be started."""
    ways = [f"{process}>{server}" for process in PROCESSES for server in ("postgres", "redis")]
    with ThreadPoolExecutor(max_workers=1) as starter:
        async with contextlib.AsyncExitStack() as opened:
            links = {
                way: await opened.enter_async_context(Link.opened(way)) for way in ("clients>api", *ways)
            }
            fleet = Fleet(folder=folder, links=links, settings=settings, plant=plant, starter=starter)
            opened.push_async_callback(fleet.close)
            await fleet.start_postgres()
            await fleet.start_redis()
            yield fleet
