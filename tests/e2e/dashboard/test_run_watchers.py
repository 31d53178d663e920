"""Two hundred open tabs that watch one run."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from typing import Any

import pytest

from parley.server.config import ApiSettings, Settings
from tests.stage import Stage, client_of, hurried, told, until
from tests.stage import stage as stage

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

WATCHERS = 200
AT_ONCE = 20
"""Opened together: each looks its run up once, through a small pool of connections."""


@pytest.fixture
def stage_settings(settings: Settings) -> Settings:
    """The key's cache as shipped: looking a key up takes a connection, too."""
    api = ApiSettings(port=0, requests_per_minute=0, key_cache_s=10, shutdown_grace_s=2)
    return dataclasses.replace(hurried(settings), api=api)


def connections_to_the_bus(stage: Stage) -> int:
    """Connections that the API has opened to read the live bus."""
    pool: Any = stage.services.hub._blocking.connection_pool
    return len(pool._in_use_connections) + len(pool._available_connections)


async def test_two_hundred_watchers_of_a_run_cost_one_subscription(stage: Stage) -> None:
    path = await stage.start(await stage.make_test())
    hub = stage.services.hub
    async with contextlib.AsyncExitStack() as opened, client_of(stage.url, stage.tenant.auth) as client:
        watching: list[Any] = []
        for _ in range(WATCHERS // AT_ONCE):
            streams = [
                opened.enter_async_context(stage.watching(path, client=client)) for _ in range(AT_ONCE)
            ]
            watching += await asyncio.gather(*streams)
        assert {reading.status for reading, _ in watching} == {200}
        await until(lambda: sum(map(len, hub._watches.values())) == WATCHERS)
        assert (len(hub._places), connections_to_the_bus(stage)) == (1, 1)
        await stage.http.post(f"{path}/cancel")

        async def heard(reading: Any, chunks: Any) -> list[Any]:
            async for chunk in chunks:
                reading.raw += chunk
            return told(reading.frames)

        async with asyncio.timeout(60):
            stories = await asyncio.gather(*(heard(*one) for one in watching))
    assert all(story == stories[0] for story in stories)
    assert stories[0][-1][1]["code"] == "cancelled"
