"""`make bench-large`: what a long history costs, and two schedulers of which one dies.

Fills databases of its own, each a thousand runs a day back into the past, and measures the statements
that people and ticks wait for. How to read the tables: docs/operations/bench-large.md.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import os
import secrets
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

import asyncpg
from redis.asyncio import ConnectionPool

from parley.engine.chat.pieces import Usage
from parley.engine.events import ENTRY, AssistantSpoke, Entry, Opinion, Timing, UserSpoke
from parley.engine.messages import Text
from parley.server.agentic_tests import service as tests_service
from parley.server.billing.usage import usage_report
from parley.server.db.database import Database, plain_url
from parley.server.db.migrate import upgrade
from parley.server.db.repository import AccountScope
from parley.server.kit.paging import Paging
from parley.server.ops.local.postgres import PostgresPlan, start_postgres
from parley.server.queue.jobs import RunQueue, arq_redis
from parley.server.retention.policy import RetentionRules
from parley.server.retention.tick import Retention
from parley.server.runs import claim
from parley.server.runs import service as runs_service
from parley.server.runs.admit import admit_waiting
from parley.server.schedules.fire import Starter
from parley.server.schedules.tick import Scheduler
from scripts.hotpath.meter import cpu_s_of
from tests.factories.accounts import make_tenant
from tests.factories.agentic_tests import make_agentic_test, make_gateway, offer

SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
ACCOUNTS: Final = 50
DUE_TESTS: Final = 10_000
REPETITIONS: Final = 20
FLAT_BELOW: Final = 3.0
"""More than this times the smallest size is marked."""
FIRE_TIMEOUT_S: Final = 180.0
NO_REDIS: Final = "redis://127.0.0.1:1/0"
"""A closed port: a start never depends on Redis, and nothing here should be carried out."""
HOURLY: Final = "7 * * * *"
LONG_AGO: Final = timedelta(days=36_500)
WORDS: Final = "The parcel arrived broken, and the shop has my order number since Monday. " * 2

# Accounts by number, from 1: what is measured in one is not disturbed by another.
BIG: Final = 1
"""Owns half of everything, and one test a tenth of all runs."""
CROWDED: Final = 11
"""All slots taken by runs whose worker is lost, and a hundred runs waiting."""
SPENDING: Final = (12, 20)
"""Accounts with units of quota."""
WAITING: Final = (21, 40)
"""One run each that waits although there are free slots."""
FIRING: Final = (41, 50)
"""One due test each; the big account has as many."""


def _id_of(number: str, created_at: str, variant: str) -> str:
    """SQL of the UUIDv7 of row `number`, made at `created_at`."""
    ms = f"lpad(to_hex((extract(epoch FROM {created_at}) * 1000)::bigint), 12, '0')"
    return f"({ms} || '7000{variant}000' || lpad(to_hex({number}), 12, '0'))::uuid"


_ACCOUNT_OF_TEST: Final = "CASE WHEN t % 2 = 0 THEN 1 ELSE 2 + (t / 2) % 49 END"
"""Every second test is the big account's; the others take turns."""
_MOMENT: Final = "$2::timestamptz - ($1::bigint - {}) * interval '86.4 seconds'"
"""A thousand runs a day: the number of days grows with the size, and no day differs from another."""

# Ten runs go to each test, but every tenth of all runs is one of the main test.
_HISTORY: Final = f"""(
    SELECT n, is_main, created_at, {_id_of("n", "created_at", "8")} AS id,
           $3::uuid[] AS accounts, CASE WHEN is_main THEN 1 ELSE {_ACCOUNT_OF_TEST} END AS account,
           CASE WHEN is_main THEN $4::uuid ELSE {_id_of("t", "test_created_at", "9")} END AS test_id
      FROM (SELECT n, n / 10 AS t, n % 10 = 0 AS is_main, {_MOMENT.format("n")} AS created_at,
                   {_MOMENT.format("n / 10 * 10")} AS test_created_at
              FROM generate_series(0, $1::bigint - 1) AS n) AS numbered
) AS run"""

_TESTS: Final = f"""
INSERT INTO agentic_tests (account_id, id, name, gateway_id, fields, cron, next_run_at, looked_at_from,
                           created_at, updated_at)
SELECT ($3::uuid[])[account], {_id_of("t", "made_at", "9")}, 'Refund ' || t, ($5::uuid[])[account],
       main.fields, main.cron, due_at, due_at, made_at, made_at
  FROM (SELECT t, {_ACCOUNT_OF_TEST} AS account, {_MOMENT.format("t * 10")} AS made_at,
               $2::timestamptz + interval '1 day' + (t % 1440) * interval '1 minute' AS due_at
          FROM generate_series(0, $1::bigint / 10 - 1) AS t) AS numbered, agentic_tests AS main
 WHERE main.id = $4::uuid
"""
_RUNS: Final = f"""
INSERT INTO runs (account_id, id, test_id, state, trigger, scheduled_for, revision, seed, definition, outcome,
                  score, cost, turn, last_seq, admitted_at, started_at, finished_at, created_at, updated_at)
SELECT accounts[account], id, test_id, CASE WHEN n / 10 % 10 = 3 THEN 'failed' ELSE 'succeeded' END,
       CASE WHEN n % 2 = 1 THEN 'schedule' ELSE 'manual' END, CASE WHEN n % 2 = 1 THEN created_at END,
       'rev', n, $5::jsonb, 'success', 0.9, 0.002, 1, 3, created_at, created_at,
       created_at + interval '20 seconds', created_at, created_at + interval '20 seconds'
  FROM {_HISTORY}
"""
_ENTRIES: Final = f"""
INSERT INTO entries (account_id, run_id, seq, kind, turn, body, cost, created_at)
SELECT accounts[account], id, seq, body ->> 'kind', 1, body, 0.001, created_at
  FROM {_HISTORY}, jsonb_array_elements($5::jsonb) WITH ORDINALITY AS said(body, seq)
"""
_LEDGER: Final = f"""
INSERT INTO ledger (account_id, source, source_id, seq, amount, role, llm, test_id, prompt_tokens,
                    completion_tokens, created_at)
SELECT accounts[account], 'run', id, seq, -0.001, role, 'small-' || role, test_id, 900, 60, created_at
  FROM {_HISTORY}, (VALUES (1, 'user'), (3, 'judge')) AS charged(seq, role)
"""
_UNITS: Final = f"""
INSERT INTO quota_units (account_id, id, spent_at)
SELECT ($3::uuid[])[{SPENDING[0]} + n % {SPENDING[1] - SPENDING[0] + 1}], gen_random_uuid(),
       $2::timestamptz - n * interval '1 millisecond'
  FROM generate_series(0, $1::bigint / 10 - 1) AS n
"""
_OPEN: Final = f"""
INSERT INTO runs (account_id, id, test_id, state, trigger, revision, seed, definition,
                  admitted_at, lease_until)
SELECT ($1::uuid[])[account], gen_random_uuid(), ($2::uuid[])[account],
       CASE WHEN held THEN 'running' ELSE 'pending' END, 'manual', 'rev', 1, $3::jsonb,
       CASE WHEN held THEN now() END,       CASE WHEN held THEN now() - interval '1 minute' END
  FROM (SELECT {CROWDED} AS account, n <= 8 AS held FROM generate_series(1, 108) AS n
         UNION ALL
        SELECT n, false FROM generate_series({WAITING[0]}, {WAITING[1]}) AS n) AS wanted
"""
_DUE_SET: Final = f"""
(SELECT id FROM agentic_tests WHERE account_id = ($1::uuid[])[{BIG}] AND id <> $2::uuid
  ORDER BY id DESC LIMIT 10)
UNION ALL
SELECT newest.id FROM unnest(($1::uuid[])[{FIRING[0]}:{FIRING[1]}]) AS account(id),
       LATERAL (SELECT id FROM agentic_tests WHERE account_id = account.id
                   AND name <> 'Refund' ORDER BY id DESC LIMIT 1) AS newest
"""


# Ground


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The address of a Postgres that may have databases made: the one that is set, or an embedded one."""
    given = os.environ.get("PARLEY_DATABASE_URL")
    if given:
        yield plain_url(given)
        return
    folder = Path(tempfile.mkdtemp(prefix="parley-bench-large-"))
    try:
        running = start_postgres(PostgresPlan(folder=folder, password=secrets.token_hex(16)))
        try:
            asyncio.run(_roomy(running.url()))
            yield running.url()
        finally:
            running.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _roomy(url: str) -> None:
    """Loading a million runs at once is no everyday work: spare it the checkpoints."""
    async with _connected(url) as connection:
        await connection.execute("ALTER SYSTEM SET max_wal_size = '8GB'")
        await connection.execute("SELECT pg_reload_conf()")


@contextlib.asynccontextmanager
async def _connected(url: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    connection = await asyncpg.connect(url, timeout=10)
    try:
        yield connection
    finally:
        await connection.close()


@contextlib.asynccontextmanager
async def own_database(server_url: str) -> AsyncIterator[str]:
    """A migrated database that is dropped at the end."""
    name = f"parley_bench_{secrets.token_hex(6)}"
    async with _connected(server_url) as connection:
        await connection.execute(f'CREATE DATABASE "{name}"')
    try:
        url = urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
        await asyncio.to_thread(upgrade, url)
        yield url
    finally:
        async with _connected(server_url) as connection:
            await connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenants:
    """The accounts by their numbers, each with a gateway and a test that has a schedule."""

    accounts: list[UUID]
    gateways: list[UUID]
    tests: list[UUID]

    @property
    def scope(self) -> AccountScope:
        """The rows of the big account."""
        return AccountScope(self.accounts[BIG - 1])

    @property
    def main_test(self) -> UUID:
        """The test that has a tenth of all runs."""
        return self.tests[BIG - 1]


async def make_tenants(database: Database) -> Tenants:
    """Make the accounts, on plan max and with credit."""
    accounts, gateways, tests = [], [], []
    for number in range(1, ACCOUNTS + 1):
        tenant = await make_tenant(database, f"Account {number}", "max", Decimal(1_000_000))
        gateway = await make_gateway(database, tenant.scope)
        accounts.append(tenant.account_id)
        gateways.append(gateway.id)
        tests.append(await make_agentic_test(database, tenant.scope, gateway.slug, cron=HOURLY))
    return Tenants(accounts=accounts, gateways=gateways, tests=tests)


# History


def _conversation() -> list[Entry]:
    """One turn, as it is kept."""
    usage = Usage(model="small", prompt_tokens=900, completion_tokens=60)
    timing = Timing(at_ms=1_800_000_000_000, took_ms=1_500, first_piece_ms=300)
    said = (Text(text=WORDS),)
    return [
        UserSpoke(turn=1, parts=said, usage=usage, timing=timing),
        AssistantSpoke(turn=1, round=1, parts=said, usage=usage, timing=timing),
        Opinion(
            turn=1,
            reasoning=WORDS,
            score=Decimal("0.9"),
            turn_delta=Decimal("0.8"),
            conversation_delta=Decimal("0.8"),
            loss_streak=0,
            required_loss_streak=2,
            state="success",
            passed=True,
            should_continue=False,
            usage=usage,
            timing=timing,
        ),
    ]


async def load(url: str, database: Database, tenants: Tenants, size: int) -> None:
    """Write `size` ended runs with all that belongs to them, and what is under way at this moment."""
    async with database.session() as session:
        basis = await tests_service.load_for_run(session, tenants.scope, offer(), tenants.main_test)
    definition = basis.snapshot.model_dump_json()
    said = json.dumps([ENTRY.dump_python(entry, mode="json") for entry in _conversation()])
    history = (size, datetime.now(UTC), tenants.accounts, tenants.main_test)
    await asyncio.gather(
        _bulk(url, (_TESTS, *history, tenants.gateways), (_RUNS, *history, definition)),
        _bulk(url, (_ENTRIES, *history, said)),
        _bulk(url, (_LEDGER, *history), (_UNITS, *history[:3])),
    )
    async with _connected(url) as connection:
        await connection.execute(_OPEN, tenants.accounts, tenants.tests, definition)
        await connection.execute("VACUUM ANALYZE")
        await connection.execute("CHECKPOINT")


async def _bulk(url: str, *statements: tuple[Any, ...]) -> None:
    """Foreign keys are not looked at, row by row, for rows that are made to fit. Needs a superuser."""
    async with _connected(url) as connection:
        await connection.execute("SET session_replication_role = replica; SET synchronous_commit = off")
        for statement, *values in statements:
            await connection.execute(statement, *values)


# Measures


async def _nothing() -> None:
    pass


Act = Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Something that is done many times. Only `act` is timed."""

    name: str
    act: Act
    before: Act = _nothing
    after: Act = _nothing

    async def once_ms(self) -> float:
        """Do it once; how long it took."""
        await self.before()
        began_s = time.perf_counter()
        await self.act()
        took_s = time.perf_counter() - began_s
        await self.after()
        return took_s * 1000


class Subject:
    """A filled database, and what is done with it."""

    def __init__(self, database: Database, scheduler: Scheduler, tenants: Tenants) -> None:
        self._database = database
        self._scheduler = scheduler
        self._tenants = tenants
        self._due: list[UUID] = []
        rules = RetentionRules(
            executed=LONG_AGO, cancelled=LONG_AGO, accounting=LONG_AGO, notifications=LONG_AGO
        )
        self._retention = Retention(database, rules, 1_000, 3_600)

    async def measures(self) -> list[Measure]:
        """All of them, in the order of the table."""
        test, scope = self._tenants.main_test, self._tenants.scope
        self._due = await self._ids(_DUE_SET, self._tenants.accounts, test)
        by_age = "SELECT id FROM runs WHERE account_id = $1 AND test_id = $2 ORDER BY id"
        runs = await self._ids(by_age, scope.account_id, test)
        middle = runs[len(runs) // 2]
        tests = await self._ids(
            "SELECT id FROM agentic_tests WHERE account_id = $1 ORDER BY id LIMIT 51", scope.account_id
        )
        newest, oldest = Paging(), Paging(before=tests[-1])
        return [
            Measure(name="tick, nothing due", act=self._scheduler.once),
            Measure(
                name="tick, 20 tests due",
                before=self._make_due,
                act=self._scheduler.once,
                after=self._forget_fired,
            ),
            Measure(name="tests, first page", act=lambda: self._tests(newest)),
            Measure(name="tests, last page", act=lambda: self._tests(oldest)),
            Measure(name="tests, a page of one gateway", act=lambda: self._tests(newest, gateway=True)),
            Measure(name="tests, search without a hit", act=lambda: self._tests(newest, search="nowhere")),
            Measure(name="runs, first page", act=lambda: self._runs(newest)),
            Measure(name="runs, a page from the middle", act=lambda: self._runs(Paging(before=middle))),
            Measure(name="runs, of the oldest test", act=lambda: self._runs(newest, test_id=tests[0])),
            Measure(name="runs, only failed (1 in 10)", act=lambda: self._runs(newest, "failed")),
            Measure(name="runs, only cancelled (none)", act=lambda: self._runs(newest, "cancelled")),
            Measure(name="run, all that was said", act=lambda: self._detail(middle)),
            Measure(name="usage of one day", act=self._usage),
            Measure(name="sweep, runs without worker", act=lambda: claim.due(self._database, 100, 5)),
            Measure(name="sweep, admission of 20", act=self._admit, after=self._take_back),
            Measure(name="retention, nothing old", act=self._retention.once),
        ]

    async def _ids(self, statement: str, *values: Any) -> list[UUID]:
        async with self._database.raw() as connection:
            return [row["id"] for row in await connection.fetch(statement, *values)]

    async def _execute(self, statement: str, *values: Any) -> None:
        async with self._database.raw() as connection:
            await connection.execute(statement, *values)

    async def _make_due(self) -> None:
        await self._execute(
            "UPDATE agentic_tests SET next_run_at = date_trunc('minute', now()), "
            "looked_at_from = date_trunc('minute', now()) "
            "FROM unnest($1::uuid[]) AS due(id) WHERE agentic_tests.id = due.id "
            "AND account_id = ANY($2::uuid[])",
            self._due,
            self._tenants.accounts,
        )

    async def _forget_fired(self) -> None:
        gone = await self._ids(
            "DELETE FROM runs WHERE state = 'pending' AND trigger = 'schedule' RETURNING id"
        )
        if len(gone) != len(self._due):
            raise RuntimeError(f"{len(self._due)} tests were due, {len(gone)} runs were made")
        await self._execute(
            "DELETE FROM quota_units USING unnest($1::uuid[]) AS account(id) "
            "WHERE quota_units.account_id = account.id",
            [self._tenants.accounts[BIG - 1], *self._tenants.accounts[FIRING[0] - 1 : FIRING[1]]],
        )

    async def _tests(self, paging: Paging, search: str | None = None, *, gateway: bool = False) -> None:
        """A page with the latest run of each test, as the API gives it."""
        reference = str(self._tenants.gateways[BIG - 1]) if gateway else None
        async with self._database.session() as session:
            scope = self._tenants.scope
            rows, _ = await tests_service.listed(session, scope, paging, search=search, gateway=reference)
            await runs_service.latest(session, scope, [one.row.id for one in rows])

    async def _runs(self, paging: Paging, state: str | None = None, test_id: UUID | None = None) -> None:
        async with self._database.session() as session:
            test_id = test_id or self._tenants.main_test
            await runs_service.listed(session, self._tenants.scope, test_id, state, paging)

    async def _detail(self, run_id: UUID) -> None:
        async with self._database.session() as session:
            await runs_service.read_detail(session, self._tenants.scope, self._tenants.main_test, run_id)

    async def _usage(self) -> None:
        now = datetime.now(UTC)
        start, end = now - timedelta(hours=23), now - timedelta(hours=1)
        async with self._database.session() as session:
            await usage_report(session, self._tenants.scope, start.isoformat(), end.isoformat(), now)

    async def _admit(self) -> None:
        await admit_waiting(self._database)

    async def _take_back(self) -> None:
        back = await self._ids(
            "UPDATE runs SET admitted_at = NULL "
            "WHERE state = 'pending' AND admitted_at IS NOT NULL RETURNING id"
        )
        if len(back) != WAITING[1] - WAITING[0] + 1:
            raise RuntimeError(f"{len(back)} runs were admitted")


@contextlib.asynccontextmanager
async def scheduling(url: str) -> AsyncIterator[tuple[Database, Scheduler]]:
    """A scheduler as a worker has it, with Redis away."""
    database = Database(url)
    redis = arq_redis(ConnectionPool.from_url(NO_REDIS), "bench")
    try:
        yield database, Scheduler(database, Starter(offer=offer(), queue=RunQueue(redis, "bench")), 1.0)
    finally:
        await redis.aclose()
        await database.close()


async def measured(server_url: str, sizes: Sequence[int], only: str) -> dict[str, list[float]]:
    """Milliseconds of each measure whose name contains `only`, by size.

    All histories are there before anything is measured, and they take turns: a machine that is slow for
    a minute is slow for all of them.
    """
    async with contextlib.AsyncExitStack() as opened:
        subjects = [await _filled(opened, server_url, size) for size in sizes]
        found = {}
        for same in zip(*[await subject.measures() for subject in subjects], strict=True):
            if only not in same[0].name:
                continue
            rounds = [[await one.once_ms() for one in same] for _ in range(REPETITIONS + 1)][1:]
            found[same[0].name] = [statistics.median(times) for times in zip(*rounds, strict=True)]
            _tell(f"{same[0].name}: {' '.join(f'{ms:.2f}' for ms in found[same[0].name])} ms")
        return found


async def _filled(opened: contextlib.AsyncExitStack, server_url: str, size: int) -> Subject:
    url = await opened.enter_async_context(own_database(server_url))
    database, scheduler = await opened.enter_async_context(scheduling(url))
    tenants, began_s = await make_tenants(database), time.monotonic()
    await load(url, database, tenants, size)
    _tell(f"{size:,} runs loaded in {time.monotonic() - began_s:.1f} s; load {os.getloadavg()[0]:.1f}")
    return Subject(database, scheduler, tenants)


# Firing


async def fired(server_url: str, count: int) -> bool:
    """Two schedulers, `count` due tests, one scheduler killed half-way; whether all fired exactly once."""
    async with own_database(server_url) as url, contextlib.AsyncExitStack() as opened:
        database = Database(url)
        opened.push_async_callback(database.close)
        tenants = await make_tenants(database)
        connection = await opened.enter_async_context(_connected(url))
        due_at = await _make_all_due(connection, tenants, count)
        both = [_start_scheduler(url) for _ in range(2)]
        try:
            await _until(connection, count // 2)
            cpu_s = [cpu_s_of(one.pid) for one in both]
            both[0].send_signal(signal.SIGKILL)
            made = await _runs_made(connection)
            await _until(connection, count)
            await asyncio.sleep(1)  # whoever fired twice has the time to show it
        finally:
            for one in both:
                one.kill()
                one.wait()
        _tell(f"killed at {made:,} runs; until then {cpu_s[0]:.1f} s of CPU, the other {cpu_s[1]:.1f} s")
        return await _all_once(connection, count, due_at)


async def _make_all_due(
    connection: asyncpg.Connection[asyncpg.Record], tenants: Tenants, count: int
) -> datetime:
    """Copy each account's test until there are `count`; all are due at the minute that runs."""
    await connection.execute(
        "INSERT INTO agentic_tests "
        "(account_id, id, name, gateway_id, fields, cron, next_run_at, looked_at_from) "
        "SELECT account_id, gen_random_uuid(), name, gateway_id, fields, cron, next_run_at, looked_at_from "
        "FROM agentic_tests, generate_series(2, $1::bigint)",
        count // len(tenants.accounts),
    )
    due_at: datetime = await connection.fetchval("SELECT date_trunc('minute', now())")
    await connection.execute("UPDATE agentic_tests SET next_run_at = $1, looked_at_from = $1", due_at)
    await connection.execute("VACUUM ANALYZE agentic_tests")
    return due_at


def _start_scheduler(url: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "scripts.bench_large", "--scheduler", url])


async def _runs_made(connection: asyncpg.Connection[asyncpg.Record]) -> int:
    made: int = await connection.fetchval("SELECT count(*) FROM runs")
    return made


async def _until(connection: asyncpg.Connection[asyncpg.Record], count: int) -> None:
    async with asyncio.timeout(FIRE_TIMEOUT_S):
        while await _runs_made(connection) < count:  # noqa: ASYNC110 - other processes make them
            await asyncio.sleep(0.05)


async def _all_once(connection: asyncpg.Connection[asyncpg.Record], count: int, due_at: datetime) -> bool:
    row = await connection.fetchrow(
        "SELECT count(*) AS runs, count(DISTINCT (test_id, scheduled_for)) AS pairs, "
        "count(*) FILTER (WHERE scheduled_for <> $1) AS strangers, "
        "extract(epoch FROM max(created_at) - min(created_at))::float8 AS wall_s, "
        "(SELECT count(*) FROM agentic_tests "
        "WHERE next_run_at <= $1 OR last_skip_reason IS NOT NULL) AS left "
        "FROM runs",
        due_at,
    )
    assert row is not None, "a question with one row"
    print(
        f"\n{count:,} tests due at one minute over {ACCOUNTS} accounts of plan max, two schedulers, "
        f"one killed: {row['runs']:,} runs, {row['pairs']:,} pairs of test and due time, "
        f"{row['left']:,} tests left or skipped; {row['wall_s']:.1f} s from the first run to the last; "
        f"load {os.getloadavg()[0]:.1f}"
    )
    return (row["runs"], row["pairs"], row["strangers"], row["left"]) == (count, count, 0, 0)


async def schedule(url: str) -> None:
    """Be one of the schedulers, for as long as whoever started it lives."""
    parent = os.getppid()
    async with scheduling(url) as (_, scheduler):
        while os.getppid() == parent:
            await scheduler.once()
            await asyncio.sleep(0.1)


# Report


def table(sizes: Sequence[int], found: dict[str, list[float]]) -> str:
    """Milliseconds by size and, beside them, how many times the smallest size's."""
    head = ["median ms (ratio)", *(f"{size:,}" for size in sizes), "flat"]
    lines = [head, ["---", *("---:" for _ in sizes), "---"]]
    for name, times_ms in found.items():
        ratios = [ms / times_ms[0] for ms in times_ms]
        cells = [f"{ms:.2f} ({ratio:.1f})" for ms, ratio in zip(times_ms, ratios, strict=True)]
        lines.append([name, *cells, "yes" if max(ratios) <= FLAT_BELOW else "NO"])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make bench-large",
        description="Measures lists, details and ticks over long histories, and two schedulers of which "
        "one is killed. How to read the tables: docs/operations/bench-large.md.",
    )
    parser.add_argument(
        "--sizes", type=int, nargs="*", default=SIZES, metavar="RUNS", help="none: no histories"
    )
    parser.add_argument("--only", default="", metavar="WORDS", help="only lines whose name contains this")
    parser.add_argument("--due", type=int, default=DUE_TESTS, metavar="TESTS", help="0: no schedulers")
    parser.add_argument("--scheduler", metavar="URL", help=argparse.SUPPRESS)
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Measure and print. 1 if a due time did not fire exactly once; a table that is not flat is told only."""
    asked = _arguments(given)
    logging.getLogger("parley").setLevel(logging.ERROR)  # that Redis is away is known
    if asked.scheduler:
        asyncio.run(schedule(asked.scheduler))
        return 0
    with server() as url:
        if asked.sizes:
            found = asyncio.run(measured(url, asked.sizes, asked.only))
            print(
                f"\n{table(asked.sizes, found)}\n\n{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
        all_once = asyncio.run(fired(url, asked.due)) if asked.due else True
    return 0 if all_once else 1


if __name__ == "__main__":
    sys.exit(main())
