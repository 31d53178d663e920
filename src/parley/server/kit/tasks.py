"""Ending tasks for sure, and noticing those that end by themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

CANCEL_AGAIN_S = 0.5
"""Long enough for a task that has heard to clean up; a process that stops waits at most a few of these."""


async def end_tasks(*tasks: asyncio.Task[Any]) -> None:
    """Cancel until it is heard, and wait for the end: what the tasks raise is dropped.

    `asyncio.wait_for` of Python 3.11, which redis-py uses, may lose a cancellation.
    """
    pending = {task for task in tasks if not task.done()}
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=CANCEL_AGAIN_S)
    await asyncio.gather(*tasks, return_exceptions=True)


async def done_within(seconds: float, work: Coroutine[Any, Any, object]) -> bool:
    """Whether `work` was done in time; what it raises is raised. Late work is cancelled, not waited for."""
    task = asyncio.create_task(work)
    try:
        await asyncio.wait((task,), timeout=seconds)
    finally:
        was_done = task.done()
        task.cancel()
    if was_done:
        await task
    return was_done


async def ended_before(stop: asyncio.Event, *tasks: asyncio.Task[Any]) -> asyncio.Task[Any] | None:
    """Wait until `stop` is set, None, or until one of `tasks`, which were to go on for ever, has ended."""
    stopping = asyncio.create_task(stop.wait(), name="until-stopped")
    try:
        await asyncio.wait((stopping, *tasks), return_when=asyncio.FIRST_COMPLETED)
    finally:
        await end_tasks(stopping)
    return None if stop.is_set() else next(task for task in tasks if task.done())
