"""Fixtures of this folder."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator

import pytest

from parley.server.config import OutboundSettings, Settings
from tests.receivers import Receiver, receiving
from tests.stage import hurried
from tests.stage import stage as stage


@pytest.fixture
def stage_settings(settings: Settings) -> Settings:
    """127.0.0.1 may be called and 127.0.0.2 may not."""
    outbound = OutboundSettings(allowed_networks=("127.0.0.1/32",))
    return dataclasses.replace(hurried(settings), outbound=outbound)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """The customer's server."""
    async with receiving() as opened:
        yield opened
