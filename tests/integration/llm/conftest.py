"""A scripted llm server and the pools that call it, on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from parley.server.llm.demo.server import DemoServer
from parley.server.llm.pool import LlmPool, PoolLimits
from parley.server.outbound.guard import OutboundPolicy


@pytest.fixture
async def server() -> AsyncIterator[DemoServer]:
    """The scripted server."""
    async with DemoServer() as running:
        yield running


@pytest.fixture
async def pool() -> AsyncIterator[LlmPool]:
    """Pools whose guard lets customers' gateways live on loopback."""
    built = LlmPool(PoolLimits(connect_timeout_s=5.0), OutboundPolicy.of(networks=["127.0.0.0/8"]))
    yield built
    await built.close()
