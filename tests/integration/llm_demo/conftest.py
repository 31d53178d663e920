"""A server of its own for each test."""

from collections.abc import AsyncIterator

import pytest

from parley.server.llm.demo import DemoServer, Settings


@pytest.fixture
async def server() -> AsyncIterator[DemoServer]:
    async with DemoServer(settings=Settings(story_latency_ms=0, story_gap_ms=0)) as running:
        yield running
