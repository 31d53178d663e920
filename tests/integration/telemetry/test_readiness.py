"""Whether Redis takes writes is found out by a write."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from parley.server.ops.local.valkey import ValkeyPlan, start_valkey
from parley.server.telemetry.readiness import queue_state


@pytest.fixture
def own_redis_url(tmp_path: Path) -> Iterator[str]:
    """A server that the test may spoil."""
    server = start_valkey(ValkeyPlan(folder=tmp_path, password=None))
    yield server.url()
    server.stop()


@pytest.fixture
async def redis(own_redis_url: str) -> AsyncIterator[Redis]:
    async with Redis.from_url(own_redis_url) as client:
        yield client


async def test_redis_that_takes_a_value_and_gives_it_back_is_ready(redis: Redis) -> None:
    assert await queue_state(redis, "test", 2.0) == "ready"


async def test_replica_that_refuses_writes_is_degraded(redis: Redis) -> None:
    """C165: it answers, and cannot queue anything."""
    await redis.replicaof("127.0.0.1", 1)
    assert await redis.ping()
    assert await queue_state(redis, "test", 2.0) == "degraded"


async def test_full_redis_is_degraded(redis: Redis) -> None:
    """C165"""
    await redis.config_set("maxmemory-policy", "noeviction")
    await redis.config_set("maxmemory", "1")
    assert await queue_state(redis, "test", 2.0) == "degraded"


async def test_redis_that_says_nothing_is_degraded_in_time() -> None:
    """C165: the check is bounded, whatever the other side does."""
    connections: list[asyncio.StreamWriter] = []

    async def keep_silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)

    server = await asyncio.start_server(keep_silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, Redis(host="127.0.0.1", port=port) as silent:
        async with asyncio.timeout(5):
            assert await queue_state(silent, "test", 0.05) == "degraded"
        for writer in connections:
            writer.close()
