"""Ending tasks for sure."""

from __future__ import annotations

import asyncio
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
