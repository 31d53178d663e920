"""Migrations: one at a time, waiting politely, making what the code declares."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import asyncpg
import pytest

from parley.server.db import check, migrate
from parley.server.errors import DatabaseAway
from parley.server.ops.local.shared_servers import Servers


@pytest.fixture
async def empty_url(servers: Servers) -> AsyncIterator[str]:
    """The address of an empty database."""
    name = f"parley_empty_{uuid4().hex[:12]}"
    admin = await asyncpg.connect(servers.postgres_url)
    await admin.execute(f'CREATE DATABASE "{name}"')
    yield urlunsplit(urlsplit(servers.postgres_url)._replace(path=f"/{name}"))
    await admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
    await admin.close()


def test_migrations_make_what_the_code_declares(servers: Servers) -> None:
    check.check(servers.postgres_url)


async def test_replicas_that_start_together_all_arrive(empty_url: str) -> None:
    """C174."""
    replicas = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", f"from parley.server.db.migrate import upgrade; upgrade({empty_url!r})"
        )
        for _ in range(3)
    ]
    assert [await replica.wait() for replica in replicas] == [0, 0, 0]
    assert await migrate.current(empty_url) == migrate.head()
    connection = await asyncpg.connect(empty_url)
    plans = await connection.fetch(
        "SELECT code, runs_per_minute, concurrent_runs, multiplier, metered FROM plans"
    )
    locks = await connection.fetchval(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = "
        "(SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    await connection.close()
    assert {(*row[:3], float(row[3]), row[4]) for row in plans} == {
        ("free", 5, 1, 1.25, True),
        ("pro", 30, 4, 1.05, True),
        ("max", None, 8, 1.0, True),
    }
    assert locks == 0


async def test_migrator_waits_for_another_one(empty_url: str) -> None:
    other = await asyncpg.connect(empty_url)
    await other.execute("SELECT pg_advisory_lock($1)", migrate.LOCK_KEY)
    waiting = asyncio.create_task(asyncio.to_thread(migrate.upgrade, empty_url))
    await asyncio.sleep(0.5)
    assert not waiting.done()
    assert await migrate.current(empty_url) is None
    await other.close()
    await waiting
    assert await migrate.current(empty_url) == migrate.head()


async def test_migrator_gives_up_in_the_end(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "LOCK_WAIT_S", 0.1)
    other = await asyncpg.connect(empty_url)
    await other.execute("SELECT pg_advisory_lock($1)", migrate.LOCK_KEY)
    with pytest.raises(migrate.MigrationLockError, match="another process"):
        await asyncio.to_thread(migrate.upgrade, empty_url)
    await other.close()


async def test_locked_table_stops_the_migration_and_leaves_what_was(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.to_thread(migrate.upgrade, empty_url, "0001")
    monkeypatch.setattr(migrate, "LOCK_TIMEOUT_MS", 100)
    reader = await asyncpg.connect(empty_url)
    async with reader.transaction():
        await reader.execute("LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(Exception, match="lock timeout"):
            await asyncio.to_thread(migrate.upgrade, empty_url)
    await reader.close()
    assert await migrate.current(empty_url) == "0001"
    await asyncio.to_thread(migrate.upgrade, empty_url)
    assert await migrate.current(empty_url) == migrate.head()


def test_no_server_is_told_as_such(unused_tcp_port: int) -> None:
    with pytest.raises(DatabaseAway):
        migrate.upgrade(f"postgresql://postgres@127.0.0.1:{unused_tcp_port}/x")
