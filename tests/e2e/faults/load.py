"""The customers: they start runs, watch them, cancel some, and evaluate directly, whatever happens meanwhile.

They do what a good client does: a start is repeated with its idempotency key, a stream is resumed where it
broke. What they saw is kept for the checks.
"""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections import Counter
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

from tests.factories.accounts import Tenant
from tests.stage import DIRECT, GATEWAY_PRICES, GOAL, Frame, frames_of, is_terminal

HANGS_S: Final = 60.0
"""An answer that takes longer than this, with every fault shorter, is no answer."""
_LOST_WAIT_S: Final = 0.5
_DIRECT_SHARE: Final = 0.12
_STREAM_SILENCE_S: Final = 20.0
_LOST: Final = (aiohttp.ClientError, OSError, TimeoutError)


def _told_to_wait_s(answer: aiohttp.ClientResponse) -> float:
    return float(answer.headers.get("Retry-After", _LOST_WAIT_S))


@dataclass(slots=True)
class WatchedRun:
    """One accepted run, and all its watcher was told over all its connections."""

    account: Tenant
    path: str
    cancels: bool
    frames: list[Frame] = field(default_factory=list)
    connections: int = 0

    @property
    def id(self) -> uuid.UUID:
        """The run."""
        return uuid.UUID(self.path[-36:])

    @property
    def is_over(self) -> bool:
        """Whether its terminal event was seen."""
        return bool(self.frames) and is_terminal(self.frames[-1])


@dataclass(slots=True)
class DirectStream:
    """One direct evaluation as its caller saw it. `broke` tells that the connection was lost."""

    account: Tenant
    frames: list[Frame] = field(default_factory=list)
    broke: bool = False


@dataclass(slots=True)
class Seen:
    """All the customers saw."""

    runs: list[WatchedRun] = field(default_factory=list)
    directs: list[DirectStream] = field(default_factory=list)
    answers: Counter[int] = field(default_factory=Counter)
    lost_requests: int = 0
    slowest_s: float = 0.0
    wrong: list[str] = field(default_factory=list)
    """Answers that break the contract."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """A customer's account with a gateway and a test."""

    tenant: Tenant
    gateway: str
    test_id: str


class Customers:
    """Everybody who uses the API."""

    def __init__(self, http: aiohttp.ClientSession, url: str, draw: random.Random) -> None:
        self._http = http
        self._url = url
        self._draw = draw
        self.seen = Seen()
        self.runs_forgotten = 0

    async def open_shop(self, tenant: Tenant, llm_url: str) -> Shop:
        """Make the gateway and the test of an account. Nothing may be broken yet."""
        gateway = {"name": "Shop", "base_url": llm_url, "model": "assistant", "prices": GATEWAY_PRICES}
        slug = (await self._must("POST", "/api/v1/ai-gateways", tenant, gateway))["slug"]
        test = {"name": "Boots", "gateway": slug, "goal": GOAL, "max_turns": 3, "profile": "low"}
        made = await self._must("POST", "/api/v1/agentic-tests", tenant, test)
        return Shop(tenant=tenant, gateway=slug, test_id=made["id"])

    def visit(self, shop: Shop, draw: random.Random) -> Coroutine[Any, Any, None]:
        """What one customer comes for: mostly a run, sometimes a direct evaluation."""
        return self.evaluate(shop) if draw.random() < _DIRECT_SHARE else self.run(shop)

    def forget(self) -> None:
        """Forget what was seen of runs that are over, where it is not checked later."""
        self.runs_forgotten += sum(run.is_over for run in self.seen.runs)
        self.seen.runs = [run for run in self.seen.runs if not run.is_over]
        self.seen.directs.clear()

    @property
    def runs_started(self) -> int:
        """All runs that were accepted."""
        return self.runs_forgotten + len(self.seen.runs)

    async def run(self, shop: Shop) -> None:
        """Start a run, watch it to its end, and perhaps cancel it on the way."""
        cancels, after_s = self._draw.random() < 0.1, self._draw.uniform(0, 8)
        path = f"/api/v1/agentic-tests/{shop.test_id}/runs"
        started = await self._insist(path, shop.tenant, {"Idempotency-Key": uuid.uuid4().hex})
        watched = WatchedRun(shop.tenant, f"{path}/{started['id']}", cancels)
        self.seen.runs.append(watched)
        watching = asyncio.create_task(self._watch(watched))
        try:
            if cancels:
                await asyncio.sleep(after_s)
                await self._insist(f"{watched.path}/cancel", shop.tenant, {})
            await watching
        finally:
            watching.cancel()

    async def evaluate(self, shop: Shop) -> None:
        """One direct evaluation, asked for until it is taken; what breaks then stays broken."""
        while True:
            if await self._evaluated(shop):
                return
            await asyncio.sleep(_LOST_WAIT_S * self._draw.uniform(1, 4))

    async def _evaluated(self, shop: Shop) -> bool:
        stream, raw = DirectStream(shop.tenant), bytearray()
        body = {"model": shop.gateway, "goal": GOAL, "max_turns": 2, "profile": "low"}
        try:
            async with self._ask("POST", DIRECT, shop.tenant, json=body) as answer:
                self._judge(answer, "POST direct", (200, 429, 503))
                if answer.status != 200:
                    return False
                self.seen.directs.append(stream)
                async for piece in answer.content.iter_any():
                    raw += piece
        except _LOST:
            stream.broke = True
        stream.frames = frames_of(raw)
        return any(one is stream for one in self.seen.directs)

    async def replay(self, run: WatchedRun) -> list[Frame]:
        """The run's events as they are told now, when nothing is broken any more."""
        again = WatchedRun(run.account, run.path, cancels=False)
        await self._watch(again)
        return again.frames

    async def _watch(self, run: WatchedRun) -> None:
        while not run.is_over:
            raw, wait_s = bytearray(), _LOST_WAIT_S
            headers = {"Last-Event-ID": run.frames[-1].id} if run.frames else {}
            try:
                async with self._ask("GET", f"{run.path}/events", run.account, headers=headers) as answer:
                    self._judge(answer, "GET events", (200, 503))
                    wait_s = _told_to_wait_s(answer)
                    if answer.status == 200:
                        run.connections += 1
                        async for piece in answer.content.iter_any():
                            raw += piece
            except _LOST:
                self.seen.lost_requests += 1
            run.frames += frames_of(raw)
            if not run.is_over:
                await asyncio.sleep(wait_s * self._draw.uniform(1, 2))

    async def _insist(self, path: str, tenant: Tenant, headers: dict[str, str]) -> dict[str, Any]:
        """POST until it is taken."""
        while True:
            began = time.monotonic()
            try:
                async with self._ask("POST", path, tenant, headers=headers) as answer:
                    self._judge(answer, f"POST {path.rpartition('/')[2]}", (200, 202, 429, 503))
                    content = await answer.json()
                    if answer.status in (200, 202):
                        data: dict[str, Any] = content["data"]
                        return data
                    wait_s = _told_to_wait_s(answer)
            except _LOST:
                self.seen.lost_requests += 1
                wait_s = _LOST_WAIT_S
            finally:
                self._timed(path, time.monotonic() - began)
            await asyncio.sleep(wait_s * self._draw.uniform(1, 2))

    async def _must(self, method: str, path: str, tenant: Tenant, body: dict[str, Any]) -> dict[str, Any]:
        async with self._ask(method, path, tenant, json=body) as answer:
            content = await answer.json()
            if answer.status != 201:
                raise RuntimeError(f"{method} {path}: {content}")
            data: dict[str, Any] = content["data"]
            return data

    def _ask(
        self, method: str, path: str, tenant: Tenant, headers: dict[str, str] | None = None, **body: Any
    ) -> Any:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=HANGS_S)
        if path.endswith("/events") or path == DIRECT:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=_STREAM_SILENCE_S)
        return self._http.request(
            method, self._url + path, headers={**tenant.auth, **(headers or {})}, timeout=timeout, **body
        )

    def _judge(self, answer: aiohttp.ClientResponse, what: str, allowed: Sequence[int]) -> None:
        self.seen.answers[answer.status] += 1
        if answer.status not in allowed:
            self.seen.wrong.append(f"{what} answered {answer.status}")
        elif answer.status == 503 and "Retry-After" not in answer.headers:
            self.seen.wrong.append(f"{what} answered 503 without Retry-After")

    def _timed(self, path: str, took_s: float) -> None:
        self.seen.slowest_s = max(self.seen.slowest_s, took_s)
        if took_s >= HANGS_S:
            self.seen.wrong.append(f"POST {path.rpartition('/')[2]} hung for {took_s:.0f} s")
