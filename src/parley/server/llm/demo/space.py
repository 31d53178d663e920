"""One namespace of the server: its script, its pace, its request log and its counts."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

import orjson

from parley.server.llm.demo.acting import acted
from parley.server.llm.demo.answers import Answer, Pace, answer_for
from parley.server.llm.demo.behaviours import Behaviour
from parley.server.llm.demo.defaults import default_behaviour
from parley.server.llm.demo.faults import FAULTS, asked_fault
from parley.server.llm.demo.request import ChatRequest
from parley.server.llm.demo.script import Prompter, Rule, Script

RequestEnding: TypeAlias = Literal["open", "answered", "broken", "cancelled"]
"""`broken`: we ended the connection as scripted; `cancelled`: the client left before the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How unscripted llms answer, the `story_` settings for the demo's. Times in milliseconds.

    `chunks` is the number of content chunks of an answer, `log_limit` of requests remembered.
    """

    latency_ms: float = 0.0
    chunks: int = 20
    gap_ms: float = 0.0
    judge_score: float = 0.5
    story_latency_ms: float = 350.0
    story_gap_ms: float = 25.0
    log_limit: int = 5_000


@dataclass(slots=True, kw_only=True, eq=False)
class Stats:
    """Counts of one namespace since its last reset.

    `open` requests have been read and not yet ended. `cancelled_at_ms` tells when each client left.
    `connections_seen` counts the connections that carried at least one completion.
    """

    requests: int = 0
    streamed: int = 0
    open: int = 0
    max_open: int = 0
    answered: int = 0
    broken: int = 0
    cancelled: int = 0
    cancelled_at_ms: list[int] = field(default_factory=list)
    connections_seen: int = 0
    body_bytes: int = 0
    by_llm: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class LoggedRequest:
    """One request as it came, and how it ended. `at_ms` and `ended_at_ms` are epoch milliseconds.

    `behaviour` is the kind of the answer, `stats` the counts it belongs to.
    """

    seq: int
    at_ms: int
    llm: str
    headers: dict[str, str]
    raw: bytes
    behaviour: str
    stats: Stats
    ending: RequestEnding = "open"
    ended_at_ms: int | None = None

    @property
    def body(self) -> dict[str, Any]:
        """The body, parsed."""
        fields: dict[str, Any] = orjson.loads(self.raw)
        return fields

    def wire(self) -> dict[str, Any]:
        """The line of `GET /control/requests`."""
        return {
            "seq": self.seq,
            "at_ms": self.at_ms,
            "llm": self.llm,
            "behaviour": self.behaviour,
            "ending": self.ending,
            "ended_at_ms": self.ended_at_ms,
            "headers": self.headers,
            "body": self.body,
        }


class Space:
    """A namespace. Everything in it is apart from the others."""

    def __init__(self, name: str, address: str, settings: Settings) -> None:
        self.name = name
        self.address = address
        self.settings = settings
        self._waiting: list[tuple[Callable[[Stats], bool], asyncio.Future[None]]] = []
        self.reset()

    @property
    def base_url(self) -> str:
        """What a client of this namespace takes as its base URL."""
        return f"{self.address}/ns/{quote(self.name, safe='')}/v1" if self.name else f"{self.address}/v1"

    def reset(self) -> None:
        """Forget script, log and counts; requests that are still open count no more."""
        self.stats = Stats()
        self.requests: deque[LoggedRequest] = deque(maxlen=self.settings.log_limit)
        self._prompter = Prompter(Script())
        self._faults_given: Counter[str] = Counter()

    def play(self, *rules: Rule) -> None:
        """Install a script; its counters start at zero."""
        self.install(Script(rules))

    def install(self, script: Script) -> None:
        """Install a script; its counters start at zero."""
        self._prompter = Prompter(script)

    def configure(self, **changes: Any) -> None:
        """Change some of the settings."""
        self.settings = replace(self.settings, **changes)
        self.requests = deque(self.requests, maxlen=self.settings.log_limit)

    async def wait_until(self, holds: Callable[[Stats], bool], timeout_s: float = 2.0) -> None:
        """Wait until `holds(stats)`; raises TimeoutError."""
        if holds(self.stats):
            return
        arrived: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((holds, arrived))
        async with asyncio.timeout(timeout_s):
            await arrived

    def answer(self, request: ChatRequest, raw: bytes) -> tuple[Answer, LoggedRequest]:
        """Choose the answer, count and log the request."""
        behaviour, pace = self._choose(request)
        self.stats.requests += 1
        logged = LoggedRequest(
            seq=self.stats.requests,
            at_ms=time.time_ns() // 1_000_000,
            llm=request.llm,
            headers=request.headers,
            raw=raw,
            behaviour=behaviour.kind,
            stats=self.stats,
        )
        self.requests.append(logged)
        self._count_start(request)
        return answer_for(behaviour, request, pace, f"chatcmpl-{logged.seq}"), logged

    def end(self, logged: LoggedRequest, ending: RequestEnding) -> None:
        """Note how a request ended; the first ending counts."""
        if logged.ending != "open":
            return
        logged.ending, logged.ended_at_ms = ending, time.time_ns() // 1_000_000
        stats = logged.stats
        stats.open -= 1
        if ending == "cancelled":
            stats.cancelled += 1
            stats.cancelled_at_ms.append(logged.ended_at_ms)
        elif ending == "answered":
            stats.answered += 1
        else:
            stats.broken += 1
        self._tell()

    def _choose(self, request: ChatRequest) -> tuple[Behaviour, Pace]:
        settings = self.settings
        pace = Pace(latency_ms=settings.latency_ms, gap_ms=settings.gap_ms)
        asked = asked_fault(request)
        if asked is not None and asked.applies(request, self._faults_given[asked.key]):
            self._faults_given[asked.key] += 1
            return FAULTS[asked.id].behaviour, pace
        scripted = self._prompter.choose(request)
        if scripted is not None:
            return scripted, pace
        told = acted(request)
        if told is not None:
            return told, Pace(latency_ms=settings.story_latency_ms, gap_ms=settings.story_gap_ms)
        return default_behaviour(request, settings.chunks, settings.judge_score), pace

    def _count_start(self, request: ChatRequest) -> None:
        stats = self.stats
        stats.streamed += request.streamed
        stats.body_bytes += request.body_bytes
        stats.by_llm[request.llm] = stats.by_llm.get(request.llm, 0) + 1
        stats.open += 1
        stats.max_open = max(stats.max_open, stats.open)
        self._tell()

    def _tell(self) -> None:
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        for holds, arrived in waiting:
            if arrived.done():
                continue
            if holds(self.stats):
                arrived.set_result(None)
            else:
                self._waiting.append((holds, arrived))
