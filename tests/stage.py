"""A stage: scripted llms, the API over a real socket, workers, and one account with a gateway.

Everything runs in the test's own loop, so that a test can stop, kill and look into any part of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import orjson
import pytest
from pydantic import SecretStr

from parley.engine.chat import retry
from parley.server.config import (
    ApiSettings,
    LlmSettings,
    ProfileSettings,
    RunSettings,
    Settings,
    WorkerSettings,
)
from parley.server.llm.demo import DemoServer, Rule, Space
from parley.server.wiring import Services, open_services
from parley.server.worker.main import Worker
from tests.conftest import serving
from tests.factories.accounts import Tenant, make_tenant

DIRECT = "/api/v1/generations/agentic-tests"
GOAL = "Find out whether the boots can be sent back."
GATEWAY_PRICES = {"input": 1.0, "cached": 0.1, "output": 2.0}
PATIENCE_S = 15.0
"""A test that waits longer for anything has failed."""


@pytest.fixture
def stage_settings(settings: Settings) -> Settings:
    """Settings of the test with waits shortened; override it to change more."""
    return hurried(settings)


@pytest.fixture
async def stage(stage_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    """The stage without a worker: `async with stage.worker():` brings one."""
    monkeypatch.setattr(retry, "BASE_S", 0.02)
    async with open_stage(stage_settings) as opened:
        yield opened


def hurried(settings: Settings) -> Settings:
    """The same service with shorter waits."""
    return dataclasses.replace(
        settings,
        api=ApiSettings(port=0, key_cache_s=0, requests_per_minute=0, shutdown_grace_s=2),
        worker=WorkerSettings(lease_s=1.5, heartbeat_s=0.4, tick_s=0.1, shutdown_grace_s=5),
        run=RunSettings(sse_ping_s=5, stream_check_s=0.2),
    )


@contextlib.asynccontextmanager
async def open_stage(settings: Settings, plan: str = "max") -> AsyncIterator[Stage]:
    """Open everything but workers."""
    async with contextlib.AsyncExitStack() as opened:
        demo = await opened.enter_async_context(DemoServer())
        space = demo.space("stage")
        settings = dataclasses.replace(
            settings,
            llm=LlmSettings(base_url=space.base_url, api_key=SecretStr("operator-llm-key-canary")),
            profile=ProfileSettings(low_user="user", low_judge="judge"),
        )
        services = await opened.enter_async_context(open_services(settings))
        url = await opened.enter_async_context(serving(services))
        tenant = await make_tenant(services.database, "Stage", plan=plan)
        http = await opened.enter_async_context(client_of(url, tenant.auth))
        gateway = await make_gateway(http, space)
        yield Stage(settings, services, space, url, tenant, http, gateway)


def client_of(url: str, auth: dict[str, str]) -> httpx.AsyncClient:
    """A client that keeps as many connections as a test wants."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    # Without TLS there is nothing to verify, and loading certificates costs more than most tests.
    return httpx.AsyncClient(base_url=url, headers=auth, limits=limits, timeout=PATIENCE_S, verify=False)


async def make_gateway(http: httpx.AsyncClient, space: Space, **fields: Any) -> dict[str, Any]:
    """A gateway whose llm is the scripted assistant."""
    body = {"name": "Shop", "base_url": space.base_url, "model": "assistant", "prices": GATEWAY_PRICES}
    answer = await http.post("/api/v1/ai-gateways", json=body | fields)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()["data"]
    return made


@dataclass(frozen=True, slots=True)
class Frame:
    """One event as it was read."""

    id: str
    type: str
    data: dict[str, Any]
    timestamp: int


@dataclass(slots=True)
class Reading:
    """What one reader of a stream has got so far."""

    status: int
    headers: httpx.Headers
    raw: bytearray = field(default_factory=bytearray)

    @property
    def frames(self) -> list[Frame]:
        """The whole events."""
        return frames_of(self.raw)

    @property
    def pings(self) -> int:
        """The comments."""
        return self.raw.count(b": ping\n\n")


def frames_of(raw: bytes | bytearray) -> list[Frame]:
    """Read a stream strictly: `id:` and one `data:` line an event, or a comment; a cut rest is dropped."""
    frames = []
    for block in raw.split(b"\n\n")[:-1]:
        if block == b": ping":
            continue
        first, second = block.split(b"\n")
        assert first.startswith(b"id: "), block
        assert second.startswith(b"data: "), block
        body = orjson.loads(second[6:])
        assert set(body) == {"timestamp", "event"}
        assert set(body["event"]) == {"type", "data"}
        frames.append(
            Frame(first[4:].decode(), body["event"]["type"], body["event"]["data"], body["timestamp"])
        )
    return frames


_WORDS = {"content": "content", "reasoning": "reasoning_content", "refusal": "refusal"}


def text_key(frame_type: str) -> str | None:
    """Which field of an event holds streamed words."""
    about, _, kind = frame_type.rpartition(".")
    return _WORDS.get(kind) if about.endswith("_message") else None


def told(frames: Sequence[Frame]) -> list[tuple[str, dict[str, Any]]]:
    """What a stream tells, without chunk borders and without the words of abandoned attempts."""
    story: list[tuple[str, dict[str, Any]]] = []
    for frame in frames:
        key = text_key(frame.type)
        if key and story and story[-1][0] == frame.type:
            story[-1] = (frame.type, {key: story[-1][1][key] + frame.data[key]})
            continue
        if frame.type == "unhandled_error":
            while story and text_key(story[-1][0]):
                story.pop()
        story.append((frame.type, frame.data))
    return story


def is_terminal(frame: Frame) -> bool:
    """Whether nothing may follow."""
    return frame.type == "chat.validation.end" or (
        frame.type == "unhandled_error" and frame.data["will_retry"] is False
    )


@dataclass(slots=True)
class Stage:
    """All parts, and short ways to use them."""

    settings: Settings
    services: Services
    llms: Space
    url: str
    tenant: Tenant
    http: httpx.AsyncClient
    gateway: dict[str, Any]

    def play(self, *rules: Rule) -> None:
        """Give the llms a script, from its beginning."""
        self.llms.play(*rules)

    @contextlib.asynccontextmanager
    async def worker(self, settings: Settings | None = None) -> AsyncIterator[StageWorker]:
        """A worker of its own services, stopped gracefully at the end unless it was killed."""
        async with open_services(settings or self.settings) as services:
            worker = StageWorker(services)
            try:
                yield worker
            finally:
                await worker.stop()

    async def make_test(self, **fields: Any) -> str:
        """A test; gives its id."""
        body = {"name": "Boots", "gateway": self.gateway["slug"], "goal": GOAL} | fields
        answer = await self.http.post("/api/v1/agentic-tests", json=body)
        assert answer.status_code == 201, answer.text
        test_id: str = answer.json()["data"]["id"]
        return test_id

    async def start(self, test_id: str, **body: Any) -> str:
        """A run; gives its path."""
        path = f"/api/v1/agentic-tests/{test_id}/runs"
        answer = await self.http.post(path, json=body or None)
        assert answer.status_code == 202, answer.text
        return f"{path}/{answer.json()['data']['id']}"

    async def read(self, path: str) -> dict[str, Any]:
        """The data of a GET."""
        answer = await self.http.get(path)
        assert answer.status_code == 200, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data

    @contextlib.asynccontextmanager
    async def watching(
        self, path: str, last_event_id: str | None = None, client: httpx.AsyncClient | None = None
    ) -> AsyncIterator[tuple[Reading, AsyncIterator[bytes]]]:
        """An open stream of a run, read as the block likes."""
        headers = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
        async with (client or self.http).stream("GET", f"{path}/events", headers=headers) as answer:
            yield Reading(answer.status_code, answer.headers), answer.aiter_raw()

    async def events(self, path: str, last_event_id: str | None = None) -> list[Frame]:
        """Watch a run to its end."""
        return (await self.recorded(path, last_event_id)).frames

    async def recorded(self, path: str, last_event_id: str | None = None) -> Reading:
        """Watch a run to its end, byte by byte kept."""
        async with asyncio.timeout(PATIENCE_S), self.watching(path, last_event_id) as (reading, chunks):
            async for chunk in chunks:
                reading.raw += chunk
        assert reading.status == 200, reading.raw
        return reading

    async def finished(self, path: str) -> dict[str, Any]:
        """The whole run, once it has ended."""
        await self.recorded(path)
        return await self.read(path)

    @contextlib.asynccontextmanager
    async def evaluating(self, **fields: Any) -> AsyncIterator[tuple[Reading, AsyncIterator[bytes]]]:
        """An open direct evaluation."""
        body = {"model": self.gateway["slug"], "goal": GOAL} | fields
        async with self.http.stream("POST", DIRECT, json=body) as answer:
            yield Reading(answer.status_code, answer.headers), answer.aiter_raw()

    async def evaluated(self, **fields: Any) -> Reading:
        """A direct evaluation, read to its end."""
        async with asyncio.timeout(PATIENCE_S), self.evaluating(**fields) as (reading, chunks):
            async for chunk in chunks:
                reading.raw += chunk
        return reading

    async def rows(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        """Rows straight from the database."""
        async with self.services.database.raw() as connection:
            return [dict(row) for row in await connection.fetch(statement, *values)]


class StageWorker:
    """A worker in the loop."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.worker = Worker(services)
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(self.worker.run(self._stop), name="stage-worker")

    @property
    def executor(self) -> Any:
        """Who holds the runs."""
        return self.worker._executor

    @property
    def held(self) -> int:
        """How many runs it holds."""
        count: int = self.executor.held
        return count

    async def stop(self) -> None:
        """Stop it as a signal does."""
        self._stop.set()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def kill(self) -> None:
        """Let it die without a word: nothing is handed over, its leases run out."""
        arq = self.worker._consumer._worker
        jobs = [*(arq.tasks.values() if arq else ()), *self.worker._sweep._tasks]
        for task in (self._task, *jobs):
            task.cancel()
        await asyncio.gather(self._task, *jobs, return_exceptions=True)


async def until(holds: Callable[[], Any], timeout_s: float = PATIENCE_S) -> None:
    """Wait until `holds()`, which may be a coroutine function."""
    async with asyncio.timeout(timeout_s):
        while True:
            found = holds()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return
            await asyncio.sleep(0.02)
