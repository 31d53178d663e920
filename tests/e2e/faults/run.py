"""One run of the harness: a fleet under load, struck by a schedule, checked at the end."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp
import asyncpg

from parley.server.db import migrate
from parley.server.db.database import Database
from parley.server.kit.tasks import end_tasks
from parley.server.llm.demo import DemoServer
from tests.e2e.faults.checks import Check, all_checks, stories
from tests.e2e.faults.inject import Injector
from tests.e2e.faults.load import Customers, Seen, Shop
from tests.e2e.faults.logs import Strike
from tests.e2e.faults.processes import DATABASE, Fleet, Leaving, fleet_in
from tests.e2e.faults.schedule import PROCESSES, Fault
from tests.e2e.faults.waits import Wait, longest_waits
from tests.factories.accounts import make_tenant
from tests.stage import until

LEASE_S: Final = 5.0
LONGEST_WAIT_S: Final = LEASE_S + 15
"""What a run may be held up by a lost worker."""
SHOPS: Final = 6
CALM_S: Final = 90.0
"""How long everything may take to come to its end after the last fault."""
_PACE: Final = {"latency_ms": 150.0, "chunks": 8, "gap_ms": 30.0}
SETTINGS: Final = {
    "PARLEY_SECRET_KEYS": "a secret of this run alone and long enough",
    "PARLEY_PROFILE_LOW_USER": "user",
    "PARLEY_PROFILE_LOW_JUDGE": "judge",
    "PARLEY_LLM_API_KEY": "any",
    "PARLEY_OUTBOUND_ALLOWED_NETWORKS": "127.0.0.0/8",
    "PARLEY_API_REQUESTS_PER_MINUTE": "0",
    "PARLEY_API_SHUTDOWN_GRACE_S": "10",
    "PARLEY_DATABASE_STATEMENT_TIMEOUT_S": "4",
    "PARLEY_DATABASE_POOL_TIMEOUT_S": "3",
    "PARLEY_WORKER_LEASE_S": str(LEASE_S),
    "PARLEY_WORKER_HEARTBEAT_S": "1.5",
    "PARLEY_WORKER_TICK_S": "0.5",
    "PARLEY_WORKER_SHUTDOWN_GRACE_S": "8",
    "PARLEY_RUN_SSE_PING_S": "5",
    "PARLEY_RETENTION_TICK_S": "3600",
    "PARLEY_LOG_FORMAT": "json",
    "PARLEY_LOG_LEVEL": "info",
    "PYTHONUNBUFFERED": "1",
    "PYTHONFAULTHANDLER": "1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to do: how many conversations, spread over how many seconds, struck by what."""

    conversations: int
    seconds: float
    faults: Sequence[Fault] = ()
    seed: int = 0
    plant: str | None = None
    all_of_a_wait_counts: bool = False
    """Whether faults are no excuse for a run that waits for its next entry: others can go on at once."""


@dataclass(slots=True)
class Outcome:
    """What was injected, what the customers saw, and what was checked."""

    order: Order
    struck: Sequence[tuple[float, Fault]]
    seen: Seen
    checks: list[Check] = field(default_factory=list)
    longest_wait: Wait | None = None
    """The longest time a run went without a new entry, once it had one."""
    strikes: Sequence[Strike] = ()
    slowest_leaving: Leaving | None = None
    takeovers: int = 0
    took_s: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether every promise was kept."""
        return all(check.holds for check in self.checks)


async def carry_out(order: Order, folder: Path) -> Outcome:
    """Start a fleet in `folder`, do as ordered, check, end the fleet."""
    began = time.monotonic()
    async with DemoServer() as llms:
        llms.configure(**_PACE)
        settings = {**SETTINGS, "PARLEY_LLM_BASE_URL": llms.base_url}
        async with (
            fleet_in(folder, settings, order.plant) as fleet,
            customers_of(fleet, order.seed) as customers,
        ):
            shops = await open_for_business(fleet, customers, llms.base_url)
            injector = Injector(fleet)
            served = await _under_load(order, customers, shops, injector)
            await _settled(fleet)
            outcome = Outcome(order=order, struck=injector.struck, seen=customers.seen, checks=[served])
            outcome.checks.append(await stories(customers))
            await _stop_all(fleet)
            outcome.checks += [check async for check in all_checks(fleet, customers)]
            waits, outcome.takeovers = await _figures(fleet)
            outcome.longest_wait, outcome.strikes = next(iter(waits), None), fleet.strikes
            outcome.slowest_leaving = max(fleet.leavings, key=lambda one: one.took_s)
            outcome.checks.append(_none_too_long(waits, () if order.all_of_a_wait_counts else fleet.strikes))
    outcome.took_s = time.monotonic() - began
    return outcome


def _none_too_long(waits: Sequence[Wait], excuses: Sequence[Strike]) -> Check:
    broken = tuple(
        f"{wait.run} waited {wait.whole_s:.1f} s, {counts_s:.1f} s of it while nothing was broken"
        for wait in waits
        if (counts_s := wait.undisturbed_s(excuses)) > LONGEST_WAIT_S
    )
    name = f"no run waited longer than {LONGEST_WAIT_S:.0f} s for an entry that nothing held up"
    return Check(name=name, looked_at=len(waits), broken=broken)


@contextlib.asynccontextmanager
async def customers_of(fleet: Fleet, seed: int) -> AsyncIterator[Customers]:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as http:
        yield Customers(http, fleet.url, random.Random(seed))


async def open_for_business(fleet: Fleet, customers: Customers, llm_url: str) -> list[Shop]:
    """Make the database, start all processes, open the accounts."""
    await _make_database(fleet)
    await asyncio.gather(*map(fleet.start, PROCESSES))
    database = Database(fleet.database_url)
    try:
        tenants = [await make_tenant(database, f"Shop {number}") for number in range(SHOPS)]
    finally:
        await database.close()
    return [await customers.open_shop(tenant, llm_url) for tenant in tenants]


async def _make_database(fleet: Fleet) -> None:
    assert fleet.postgres is not None
    first = await asyncpg.connect(fleet.postgres.url("postgres"), timeout=10)
    await first.execute(f'CREATE DATABASE "{DATABASE}"')
    await first.close()
    await fleet.off_loop(lambda: migrate.upgrade(fleet.database_url))
    connection = await asyncpg.connect(fleet.database_url, timeout=10)
    await connection.execute((Path(__file__).parent / "audit.sql").read_text())
    await connection.close()


async def _under_load(order: Order, customers: Customers, shops: Sequence[Shop], injector: Injector) -> Check:
    """Customers come over the whole time, and faults strike on theirs; then all is mended and waited for."""
    draw, began = random.Random(order.seed), time.monotonic()
    visits = [
        asyncio.create_task(_later(draw.uniform(0, order.seconds), _visit(draw, customers, shops)))
        for _ in range(order.conversations)
    ]
    await asyncio.gather(*(_later(fault.at_s, injector.strike(fault)) for fault in order.faults))
    await injector.settle()
    still_to_come_s = max(0.0, order.seconds - (time.monotonic() - began))
    done, late = await asyncio.wait(visits, timeout=still_to_come_s + CALM_S)
    await end_tasks(*late)
    broken = [f"{len(late)} of them still waited {CALM_S:.0f} s after the last fault"] if late else []
    broken += [repr(visit.exception()) for visit in done if visit.exception()]
    return Check(name="every customer was served", looked_at=len(visits), broken=tuple(broken))


async def _later(after_s: float, work: Coroutine[Any, Any, None]) -> None:
    await asyncio.sleep(after_s)
    await work


def _visit(draw: random.Random, customers: Customers, shops: Sequence[Shop]) -> Coroutine[Any, Any, None]:
    return customers.visit(draw.choice(shops), draw)


async def _settled(fleet: Fleet) -> None:
    """Wait until nothing is open, nothing waits for a reaction, and leases of lost calls have been swept."""
    connection = await asyncpg.connect(fleet.database_url, timeout=10)

    async def is_settled() -> bool:
        return not await connection.fetchval(_OPEN)

    try:
        with contextlib.suppress(TimeoutError):  # the checks say what is still open
            await until(is_settled, CALM_S)
    finally:
        await connection.close()


_OPEN = """
SELECT EXISTS (SELECT FROM runs WHERE finished_at IS NULL)
    OR EXISTS (SELECT FROM direct_calls WHERE state = 'running') OR EXISTS (SELECT FROM outbox)
"""


async def _stop_all(fleet: Fleet) -> None:
    """SIGTERM to every process at once, as at the end of the day."""
    await asyncio.gather(*map(fleet.stop, PROCESSES))


async def _figures(fleet: Fleet) -> tuple[Sequence[Wait], int]:
    connection = await asyncpg.connect(fleet.database_url, timeout=10)
    try:
        return await longest_waits(connection), await connection.fetchval(_TAKEOVERS)
    finally:
        await connection.close()


_TAKEOVERS = "SELECT count(*) FROM entries WHERE kind = 'spent' AND body->>'code' = 'worker_lost'"
