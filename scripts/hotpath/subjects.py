"""The four things that are measured: each takes a load and tells what its own process used."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from scripts.hotpath.ground import Ground
from scripts.hotpath.house import DIRECT, House, Tenant, evaluated
from scripts.hotpath.load import Load
from scripts.hotpath.meter import OtherMeter, Spending
from scripts.hotpath.scripted import ScriptedLlms
from scripts.hotpath.talk import CALLS_PER_TURN

_MOST_S = 240.0
_WARM_UP_TURNS = 2
_WARM_UP_CONVERSATIONS = 16
"""At once: as many as fill the pool of connections, each of which costs 6 ms of CPU to open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What one measurement took; `beside` holds CPU time per turn of others, milliseconds."""

    spending: Spending
    beside: dict[str, float] = field(default_factory=dict)


def bare(what: str, llms: ScriptedLlms, load: Load) -> Taken:
    """The `floor`, or the `engine` alone: a process that measures itself."""
    told = output_of([f"scripts.hotpath.{what}", llms.base_url, *load.arguments()])
    requests = llms.stats()["requests"]
    expected = (load.conversations + 1) * load.turns * CALLS_PER_TURN
    if requests != expected:
        raise RuntimeError(f"{what} made {requests} requests instead of {expected}")
    return Taken(spending=Spending(**told))


class Service:
    """The API and a worker, freshly started and warmed up, of which each measurement is taken once."""

    def __init__(self, house: House, ground: Ground, llms: ScriptedLlms) -> None:
        self.house = house
        self._ground = ground
        self._llms = llms

    def warm_up(self) -> None:
        """Some short runs and direct evaluations: imports and first connections are behind us."""
        self._llms.pace()
        tenants, many = asyncio.run(self.house.tenants(_WARM_UP_TURNS)), _WARM_UP_CONVERSATIONS
        asyncio.run(self.house.start_runs(tenants, many))
        asyncio.run(self.house.runs_ended(_MOST_S))
        self._read(tenants, Load(conversations=many, at_once=many, turns=_WARM_UP_TURNS))

    def tenants(self, turns: int) -> list[Tenant]:
        """Gateways and tests of `turns` turns."""
        return asyncio.run(self.house.tenants(turns))

    def direct(self, tenants: list[Tenant], load: Load) -> Taken:
        """Direct evaluations, read by a process of its own. The API's process is measured."""
        servers = _Servers(self._ground, self._llms)
        meter = OtherMeter(self.house.api.pid)
        told = self._read(tenants, load)
        spending = meter.read()
        beside = servers.per_turn_ms(load)
        beside["reader"] = told["cpu_s"] * 1000 / load.all_turns
        return Taken(
            spending=Spending(wall_s=told["wall_s"], cpu_s=spending.cpu_s, grown_kb=spending.grown_kb),
            beside=beside,
        )

    def persisted(self, tenants: list[Tenant], load: Load) -> Taken:
        """Runs, started over REST while the worker is held, then carried out. The worker is measured."""
        self.house.pause_worker()
        starting = OtherMeter(self.house.api.pid)
        asyncio.run(self.house.start_runs(tenants, load.conversations))
        started = starting.read()
        servers = _Servers(self._ground, self._llms)
        meter = OtherMeter(self.house.worker.pid)
        self.house.resume_worker()
        asyncio.run(self.house.runs_ended(_MOST_S))
        spending = meter.read()
        asyncio.run(self._check(load))
        beside = servers.per_turn_ms(load)
        beside["api, starting the runs"] = started.cpu_s * 1000 / load.all_turns
        return Taken(spending=spending, beside=beside)

    def _read(self, tenants: list[Tenant], load: Load) -> dict[str, Any]:
        body = evaluated(load.turns)
        order = {
            "port": self.house.port,
            "path": DIRECT,
            "at_once": load.at_once,
            "evaluations": [
                {"key": tenant.key, "body": {"model": tenant.gateway, **body}}
                for tenant in (tenants[number % len(tenants)] for number in range(load.conversations))
            ],
        }
        return output_of(["scripts.hotpath.reader"], json.dumps(order))

    async def _check(self, load: Load) -> None:
        """Every run of the load went to its last turn and was charged for every call."""
        row = await self._ground.ask(
            "SELECT count(*) AS runs, "
            "sum((SELECT count(*) FROM ledger WHERE source_id = newest.id)) AS charges "
            "FROM (SELECT * FROM runs ORDER BY created_at DESC, id DESC "
            f"LIMIT {load.conversations}) AS newest "
            f"WHERE state = 'succeeded' AND turn = {load.turns} AND cost > 0"
        )
        expected = (load.conversations, load.all_turns * CALLS_PER_TURN)
        if (row["runs"], row["charges"]) != expected:
            raise RuntimeError(f"runs and charges are {tuple(row)} instead of {expected}")


@contextlib.contextmanager
def service(
    ground: Ground, llms: ScriptedLlms, concurrency: int, database_urls: tuple[str, str] | None = None
) -> Iterator[Service]:
    """A warmed-up service in processes of its own."""
    with House(ground, concurrency, database_urls) as house:
        made = Service(house, ground, llms)
        made.warm_up()
        yield made


class _Servers:
    """CPU time of the servers around, from here on."""

    def __init__(self, ground: Ground, llms: ScriptedLlms) -> None:
        self._meters = {
            "postgres": ground.postgres_cpu_s,
            "valkey": ground.valkey_cpu_s,
            "scripted llms": llms.cpu_s,
        }
        self._before = {name: cpu_s() for name, cpu_s in self._meters.items()}

    def per_turn_ms(self, load: Load) -> dict[str, float]:
        """What each has used since, milliseconds per turn."""
        return {
            name: (cpu_s() - self._before[name]) * 1000 / load.all_turns
            for name, cpu_s in self._meters.items()
        }


def output_of(module: list[str], order: str = "") -> dict[str, Any]:
    """What a process of ours told, which gets `order` on its standard input."""
    done = subprocess.run(
        [sys.executable, "-m", *module],
        input=order,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=_MOST_S,
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told
