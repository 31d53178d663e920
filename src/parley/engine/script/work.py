"""Work with an end: a deadline or a stop cancels it, and it is awaited before anything else happens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


class Stopping:
    """A wish to stop, made once, by whoever owns the run."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    @property
    def requested(self) -> bool:
        """Whether the wish was made."""
        return self._event.is_set()

    def request(self) -> None:
        """Stop what is under way: what has begun is cleaned up, what has not is left."""
        self._event.set()

    async def wait(self) -> None:
        """Until the wish is made."""
        await self._event.wait()


class WorkEnded(Exception):
    """Work was cancelled. `returned`: it gave a result nevertheless; `hangs`: it did not end at all."""

    def __init__(self, *, returned: bool, hangs: bool) -> None:
        super().__init__(type(self).__name__)
        self.returned = returned
        self.hangs = hangs


class Overdue(WorkEnded):
    """Its time was up."""


class Stopped(WorkEnded):
    """A stop was wished for."""


class CancelledItself(Exception):
    """Work was cancelled from within, by nobody we know."""


async def bounded(
    start: Callable[[], Awaitable[T]], limit_s: float, *, grace_s: float, stopping: Stopping | None = None
) -> T:
    """What `start()` gives, within `limit_s` seconds and until a stop is wished for.

    Ended work gets `grace_s` to come to its end; then it is left to itself. Raises `Overdue`,
    `Stopped`, `CancelledItself`, and whatever the work raises.
    """
    if stopping and stopping.requested:
        raise Stopped(returned=False, hangs=False)
    if limit_s <= 0:
        raise Overdue(returned=False, hangs=False)
    task = asyncio.ensure_future(_run(start))
    watch = asyncio.ensure_future(stopping.wait()) if stopping else None
    try:
        await asyncio.wait(
            {task, watch} if watch else {task}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED
        )
        if task.done():
            return _result(task)
        kind = Stopped if watch and watch.done() else Overdue
        raise await _ended(task, kind, grace_s)
    except asyncio.CancelledError:
        await _ended(task, Stopped, grace_s)
        raise
    finally:
        if watch:
            watch.cancel()


async def _run(start: Callable[[], Awaitable[T]]) -> T:
    """Inside the task, so that what `start` itself raises comes out as the work's own."""
    return await start()


def _result(task: asyncio.Task[T] | asyncio.Future[T]) -> T:
    if task.cancelled():
        raise CancelledItself
    return task.result()


async def _ended(task: asyncio.Future[T], kind: type[WorkEnded], grace_s: float) -> WorkEnded:
    task.cancel()
    await asyncio.wait({task}, timeout=grace_s)
    if not task.done():
        task.add_done_callback(_forget)
        return kind(returned=False, hangs=True)
    returned = not task.cancelled() and task.exception() is None
    return kind(returned=returned, hangs=False)


def _forget(task: asyncio.Future[T]) -> None:
    """Nobody waits for it any more: look at how it ended, so that the loop does not complain."""
    if not task.cancelled():
        task.exception()
