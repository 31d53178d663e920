"""Our processes under measurement: an API and a worker, started, warmed up, and ended by their pids."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import aiohttp

from parley.server.ops.local.ports import free_port
from parley.server.ops.local.processes import Child, Program
from scripts.hotpath.ground import Ground
from scripts.hotpath.talk import ASSISTANT_LLM, CRITERIA, GOAL, SYSTEM_INSTRUCTION

_STARTED_WITHIN_S = 30.0
_POSTS_AT_ONCE = 4
GATEWAYS, TESTS = "/api/v1/ai-gateways", "/api/v1/agentic-tests"
DIRECT = "/api/v1/generations/agentic-tests"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """An account's key, its gateway and its test."""

    key: str
    gateway: str
    test_id: UUID

    @property
    def headers(self) -> dict[str, str]:
        """How its requests are signed."""
        return {"Authorization": f"Bearer {self.key}"}


class House:
    """One API and one worker of `concurrency` runs on `ground`. Enter it to start them.

    `database_urls` (the API's, the worker's) stand in for the ground's own, to hear what is said to it.
    """

    def __init__(
        self, ground: Ground, concurrency: int, database_urls: tuple[str, str] | None = None
    ) -> None:
        self._ground = ground
        self.port = free_port()
        self._environment = {
            **ground.environment,
            "PARLEY_API_PORT": str(self.port),
            "PARLEY_WORKER_CONCURRENCY": str(concurrency),
        }
        self._database_urls = database_urls or (ground.database_url, ground.database_url)
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        api_database_url, worker_database_url = self._database_urls
        self.api = self._start("api", api_database_url)
        self.worker = self._start("worker", worker_database_url)
        try:
            asyncio.run(self._answers())
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.resume_worker()
        self.worker.stop()
        self.api.stop()

    def pause_worker(self) -> None:
        """Let started runs gather."""
        os.kill(self.worker.pid, signal.SIGSTOP)

    def resume_worker(self) -> None:
        """Let it take what has gathered."""
        os.kill(self.worker.pid, signal.SIGCONT)

    async def tenants(self, turns: int) -> list[Tenant]:
        """Make a gateway and a test of `turns` turns for each account."""
        async with aiohttp.ClientSession(self.url) as session:
            return [await self._tenant(session, key, turns) for key in self._ground.keys]

    async def start_runs(self, tenants: list[Tenant], count: int) -> None:
        """Start `count` runs, the tenants in turn."""
        left = iter([tenants[number % len(tenants)] for number in range(count)])
        async with aiohttp.ClientSession(self.url) as session:

            async def post() -> None:
                for tenant in left:
                    await self.start_run(session, tenant)

            await asyncio.gather(*(post() for _ in range(_POSTS_AT_ONCE)))

    async def start_run(self, session: aiohttp.ClientSession, tenant: Tenant) -> None:
        """Start one run."""
        await self._post(session, f"{TESTS}/{tenant.test_id}/runs", tenant.headers, None)

    async def runs_ended(self, timeout_s: float) -> None:
        """Wait until no run is open. Raises `TimeoutError`."""
        async with asyncio.timeout(timeout_s):
            while True:
                row = await self._ground.ask(
                    "SELECT count(*) AS open FROM runs WHERE state IN ('pending', 'running')"
                )
                if not row["open"]:
                    return
                await asyncio.sleep(0.05)

    def _start(self, command: str, database_url: str) -> Child:
        folder = self._ground.folder
        return Child(
            Program(
                name=command,
                argv=[sys.executable, "-m", "parley.server.ops.cli", command],
                env={**self._environment, "PARLEY_DATABASE_URL": database_url},
                log=folder / f"{command}.log",
                record=folder / f"{command}.pid.json",
            )
        )

    async def _answers(self) -> None:
        deadline = time.monotonic() + _STARTED_WITHIN_S
        async with aiohttp.ClientSession(self.url) as session:
            while True:
                if self.api.exit_code() is not None or self.worker.exit_code() is not None:
                    said = "\n".join([*self.api.last_lines(5), *self.worker.last_lines(5)])
                    raise RuntimeError(f"API or worker ended while starting\n{said}")
                try:
                    async with session.get("/livez"):
                        return
                except aiohttp.ClientConnectionError:
                    if time.monotonic() > deadline:
                        raise
                    await asyncio.sleep(0.05)

    async def _tenant(self, session: aiohttp.ClientSession, key: str, turns: int) -> Tenant:
        headers = {"Authorization": f"Bearer {key}"}
        gateway = {
            "name": f"Bench {turns} {self.port}",
            "base_url": self._ground.environment["PARLEY_LLM_BASE_URL"],
            "model": ASSISTANT_LLM,
            "system_instruction": SYSTEM_INSTRUCTION,
        }
        slug = str((await self._post(session, GATEWAYS, headers, gateway))["slug"])
        body = {"name": "Bench", "gateway": slug, **evaluated(turns)}
        made = await self._post(session, TESTS, headers, body)
        return Tenant(key=key, gateway=slug, test_id=UUID(made["id"]))

    async def _post(
        self, session: aiohttp.ClientSession, path: str, headers: dict[str, str], body: Any
    ) -> dict[str, Any]:
        async with session.post(path, headers=headers, json=body) as answer:
            if answer.status >= 400:
                said = "\n".join(self.api.last_lines(5))
                raise RuntimeError(f"POST {path}: {answer.status} {await answer.text()}\n{said}")
            data: dict[str, Any] = (await answer.json())["data"]
            return data


def evaluated(turns: int) -> dict[str, Any]:
    """The fields of a test or a direct evaluation that decide how it goes."""
    return {
        "goal": GOAL,
        "validation_criteria": CRITERIA,
        "max_turns": turns,
        "allow_user_exit": False,
        "seed": 7,
    }
