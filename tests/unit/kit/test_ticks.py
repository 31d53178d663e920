"""What is done again and again goes on whatever it raises."""

from __future__ import annotations

import asyncio

import pytest

from parley.server.errors import DatabaseAway
from parley.server.kit.ticks import every


@pytest.mark.parametrize("fault", [DatabaseAway(), ValueError("broken")])
async def test_a_tick_that_raises_is_followed_by_the_next(fault: Exception) -> None:
    calls = 0

    async def once() -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise fault
        if calls == 3:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await every(0, "work", once)
    assert calls == 3
