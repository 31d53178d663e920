"""How a worker ends its ticks."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from parley.server.worker import main


async def test_tick_that_lost_its_cancellation_is_ended_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "_CANCEL_AGAIN_S", 0.01)

    async def loses(times: int) -> None:
        for _ in range(times):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        await asyncio.Event().wait()

    ticks = [asyncio.create_task(loses(times)) for times in (0, 1, 3)]
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await main._end(*ticks)
    assert [tick.cancelled() for tick in ticks] == [True] * 3


async def test_ending_takes_ticks_that_have_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "_CANCEL_AGAIN_S", 0.01)

    async def fails() -> None:
        raise ValueError

    tick = asyncio.create_task(fails())
    await asyncio.wait([tick])
    await main._end(tick)
    assert isinstance(tick.exception(), ValueError)
