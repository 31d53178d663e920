"""Tasks end, also those that do not hear at once."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from parley.server.kit import tasks
from parley.server.kit.leaving import STUCK
from parley.server.kit.tasks import done_within, end_tasks, ended_before


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "CANCEL_AGAIN_S", 0.01)


async def deaf(times: int) -> None:
    while True:
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            if times == 0:
                raise
            times -= 1


@pytest.mark.parametrize("times", [0, 1, 3])
async def test_task_that_loses_cancellations_ends_all_the_same(times: int) -> None:
    task = asyncio.create_task(deaf(times))
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await end_tasks(task)
    assert task.cancelled()


async def test_what_a_task_raises_is_dropped() -> None:
    async def broken() -> None:
        raise RuntimeError

    async def breaks_when_cancelled() -> None:
        try:
            await asyncio.sleep(3_600)
        finally:
            raise RuntimeError

    over, under_way = asyncio.create_task(broken()), asyncio.create_task(breaks_when_cancelled())
    await asyncio.sleep(0)
    await end_tasks(over, under_way)
    assert over.done()
    assert under_way.done()


async def test_nothing_to_end_is_fine() -> None:
    await end_tasks()


async def test_task_that_ends_by_itself_is_noticed() -> None:
    async def broken() -> None:
        raise RuntimeError

    for_ever = asyncio.create_task(asyncio.Event().wait())
    ends = asyncio.create_task(broken())
    assert await ended_before(asyncio.Event(), for_ever, ends) is ends
    await end_tasks(for_ever, ends)


async def test_stop_that_was_asked_for_is_no_task_that_ended() -> None:
    stop = asyncio.Event()
    for_ever = asyncio.create_task(asyncio.Event().wait())
    asyncio.get_running_loop().call_soon(stop.set)
    assert await ended_before(stop, for_ever) is None
    await end_tasks(for_ever)


async def test_late_work_is_cancelled_and_not_waited_for() -> None:
    heard = asyncio.Event()

    async def late() -> None:
        try:
            await asyncio.sleep(3_600)
        finally:
            heard.set()
            await asyncio.sleep(0.05)

    assert not await done_within(0.01, late())
    async with asyncio.timeout(5):
        await heard.wait()


async def test_work_that_is_done_in_time_raises_what_it_raises() -> None:
    async def broken() -> None:
        raise RuntimeError

    assert await done_within(5, asyncio.sleep(0))
    with pytest.raises(RuntimeError):
        await done_within(5, broken())


def test_process_that_hangs_in_a_thread_is_ended() -> None:
    hangs = (
        "import threading, time; from parley.server.kit.leaving import leave_within; leave_within(0.1);"
        "threading.Thread(target=time.sleep, args=(3600,), name='name-server').start()"
    )
    done = subprocess.run([sys.executable, "-c", hangs], capture_output=True, timeout=30, check=False)
    assert done.returncode == STUCK
    assert b"name-server" in done.stderr
