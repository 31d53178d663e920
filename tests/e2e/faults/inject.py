"""Makes faults happen, and undoes them when their time is over."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from uuid import UUID

import asyncpg
import psutil
from redis.asyncio import ConnectionPool

from parley.server.queue.jobs import RunQueue, arq_redis
from tests.e2e.faults.logs import Strike
from tests.e2e.faults.processes import DATABASE, PASSWORD, PREFIX, Fleet
from tests.e2e.faults.proxy import Link
from tests.e2e.faults.schedule import Fault

_SLOW_S: Final = 0.1
_AWAY: Final = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError)

_AGAIN_S: Final = 0.25
_UNDER_WAY = "SELECT id FROM runs WHERE state = 'running'"
_END_CONNECTIONS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1"


class Injector:
    """Strikes a fleet. Faults of one target wait for each other; `struck` counts those that took place."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.struck: list[tuple[float, Fault]] = []
        """Every fault with the time it began, on the monotonic clock."""

    async def strike(self, fault: Fault) -> None:
        """Let one fault happen, from its beginning to its end."""
        act = _ACTS[fault.kind]
        async with self._fleet.busy.setdefault(_lock_of(fault), asyncio.Lock()):
            self.struck.append((time.monotonic(), fault))
            self._fleet.strikes.append(strike := Strike(fault.kind, time.time()))
            await act(self, fault)
            strike.ended_at = time.time()

    async def _kill(self, fault: Fault) -> None:
        await self._replace(fault, self._fleet.kill)

    async def _stop(self, fault: Fault) -> None:
        await self._replace(fault, self._fleet.stop)

    async def _replace(self, fault: Fault, end: Callable[[str], Awaitable[object]]) -> None:
        await end(fault.target)
        await asyncio.sleep(fault.for_s)
        await self._fleet.start(fault.target)

    async def _freeze(self, fault: Fault) -> None:
        self._fleet.signal(fault.target, signal.SIGSTOP)
        await asyncio.sleep(fault.for_s)
        self._fleet.signal(fault.target, signal.SIGCONT)

    async def _restart_postgres(self, fault: Fault) -> None:
        assert self._fleet.postgres is not None
        await self._fleet.off_loop(self._fleet.postgres.stop)
        await asyncio.sleep(fault.for_s)
        await self._fleet.start_postgres()

    async def _crash_postgres(self, fault: Fault) -> None:
        assert self._fleet.postgres is not None
        child = self._fleet.postgres.child
        family = psutil.Process(child.pid).children(recursive=True)
        await self._fleet.off_loop(child.kill)
        psutil.wait_procs(family, timeout=5)
        await asyncio.sleep(fault.for_s)
        await self._fleet.start_postgres()

    async def _fill_postgres(self, fault: Fault) -> None:
        taken: list[asyncpg.Connection[asyncpg.Record]] = []
        until = time.monotonic() + fault.for_s
        try:
            while time.monotonic() < until:
                try:
                    taken.append(await asyncpg.connect(self._fleet.database_url, timeout=5))
                except _AWAY:
                    await asyncio.sleep(0.05)
        finally:
            for connection in taken:
                connection.terminate()

    async def _fail_over_postgres(self, fault: Fault) -> None:
        await self._let_write(is_allowed=False)
        await asyncio.sleep(fault.for_s)
        await self._let_write(is_allowed=True)

    async def _let_write(self, *, is_allowed: bool) -> None:
        """Change what new connections may do, and end the open ones, until it is certain."""
        while True:
            try:
                connection = await asyncpg.connect(self._superuser_url(), timeout=5)
                try:
                    state = "off" if is_allowed else "on"
                    await connection.execute(
                        f'ALTER DATABASE "{DATABASE}" SET default_transaction_read_only = {state}'
                    )
                    await connection.execute(_END_CONNECTIONS, DATABASE)
                finally:
                    connection.terminate()
            except _AWAY:
                await asyncio.sleep(0.1)
            else:
                return

    def _superuser_url(self) -> str:
        assert self._fleet.postgres is not None
        return f"postgresql://postgres:{PASSWORD}@127.0.0.1:{self._fleet.postgres.port}/postgres"

    async def _lock_accounts(self, fault: Fault) -> None:
        with contextlib.suppress(*_AWAY):
            connection = await asyncpg.connect(self._fleet.database_url, timeout=5)
            try:
                async with connection.transaction():
                    await connection.execute("LOCK TABLE accounts IN EXCLUSIVE MODE")
                    await asyncio.sleep(fault.for_s)
            finally:
                connection.terminate()

    async def _restart_redis(self, fault: Fault) -> None:
        assert self._fleet.redis is not None
        await self._fleet.off_loop(self._fleet.redis.stop)
        await asyncio.sleep(fault.for_s)
        await self._fleet.start_redis()

    async def _flush_redis(self, _: Fault) -> None:
        async with self._fleet.redis_client() as redis:
            await redis.flushall()

    async def _forbid_writing_redis(self, fault: Fault) -> None:
        await self._replicate("127.0.0.1", "1")
        await asyncio.sleep(fault.for_s)
        await self._replicate("NO", "ONE")

    async def _replicate(self, *whom: str) -> None:
        async with self._fleet.redis_client() as redis:
            say: Any = redis.execute_command
            await say("REPLICAOF", *whom)

    async def _announce_again(self, fault: Fault) -> None:
        """The queue may bring a job twice; that its run is held already is for the claim to see."""
        assert self._fleet.redis is not None
        until = time.monotonic() + fault.for_s
        announcing = arq_redis(ConnectionPool.from_url(self._fleet.redis.url(), socket_timeout=5), PREFIX)
        async with announcing:
            queue = RunQueue(announcing, PREFIX)
            while time.monotonic() < until:
                await queue.announce(await self._runs_under_way())
                await asyncio.sleep(_AGAIN_S)

    async def _runs_under_way(self) -> list[UUID]:
        with contextlib.suppress(*_AWAY):
            connection = await asyncpg.connect(self._fleet.database_url, timeout=5)
            try:
                return [row["id"] for row in await connection.fetch(_UNDER_WAY)]
            finally:
                connection.terminate()
        return []

    async def _cut(self, fault: Fault) -> None:
        self._link(fault).cut()

    async def _close(self, fault: Fault) -> None:
        link = self._link(fault)
        link.refuses = True
        link.cut()
        await self._mended_after(link, fault.for_s)

    async def _silence(self, fault: Fault) -> None:
        link = self._link(fault)
        link.stall()
        await self._mended_after(link, fault.for_s)

    async def _slow_down(self, fault: Fault) -> None:
        link = self._link(fault)
        link.delay_s = _SLOW_S
        await self._mended_after(link, fault.for_s)

    async def _lose_answers(self, fault: Fault) -> None:
        link = self._link(fault)
        link.loses_answers = True
        await asyncio.sleep(fault.for_s)
        link.cut()
        link.mend()

    @staticmethod
    async def _mended_after(link: Link, seconds: float) -> None:
        await asyncio.sleep(seconds)
        link.mend()

    def _link(self, fault: Fault) -> Link:
        if fault.target == "clients":
            return self._fleet.links["clients>api"]
        return self._fleet.link(fault.target, fault.kind.split("-")[0])

    async def settle(self) -> None:
        """After the last fault, which undid itself like all of them: every process runs, or it is wrong."""
        for name, child in self._fleet.children.items():
            if child.exit_code() is not None:
                self._fleet.unexpected.append(f"{name} had ended by itself, code {child.exit_code()}")
                await self._fleet.start(name)


def _lock_of(fault: Fault) -> str:
    """What a fault holds: a process, a server, or the way between two of them."""
    server = fault.kind.split("-")[0]
    is_way = server in ("postgres", "redis") and fault.target != server
    return f"{fault.target}>{server}" if is_way else fault.target


_Act = Callable[[Injector, Fault], Awaitable[None]]
_ACTS: Final[Mapping[str, _Act]] = {
    "kill": Injector._kill,
    "kill-worker": Injector._kill,
    "stop": Injector._stop,
    "stop-api": Injector._stop,
    "freeze": Injector._freeze,
    "outsleep": Injector._freeze,
    "postgres-restart": Injector._restart_postgres,
    "postgres-crash": Injector._crash_postgres,
    "postgres-cut": Injector._cut,
    "postgres-away": Injector._close,
    "postgres-silent": Injector._silence,
    "postgres-slow": Injector._slow_down,
    "postgres-answers-lost": Injector._lose_answers,
    "postgres-full": Injector._fill_postgres,
    "postgres-read-only": Injector._fail_over_postgres,
    "postgres-locked": Injector._lock_accounts,
    "redis-restart": Injector._restart_redis,
    "redis-flush": Injector._flush_redis,
    "redis-read-only": Injector._forbid_writing_redis,
    "redis-cut": Injector._cut,
    "redis-away": Injector._close,
    "redis-silent": Injector._silence,
    "redis-slow": Injector._slow_down,
    "queue-repeats": Injector._announce_again,
    "clients-cut": Injector._cut,
    "clients-silent": Injector._silence,
}
