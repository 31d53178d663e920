"""Waiting with limits: a deadline or a stop ends the wait, never the consumer of a generator.

`asyncio.timeout` must not be left open across a `yield`: it would cancel whatever the consumer
awaits. `Patience` cancels its task only while that task is inside one of its own waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from types import TracebackType
from typing import Literal, Self, TypeAlias, TypeVar

from parley.engine.ports import Deadlines, Guard

T = TypeVar("T")
Limit: TypeAlias = Literal["stopped", "first_token_timeout", "idle_timeout", "inference_timeout"]


class WaitEnded(Exception):
    """A limit was reached while waiting."""

    def __init__(self, limit: Limit) -> None:
        super().__init__(limit)
        self.limit: Limit = limit


class Patience:
    """The limits of one step. Enter it, wait through it, leave it."""

    def __init__(self, guard: Guard, deadlines: Deadlines | None) -> None:
        self._guard = guard
        self._deadlines = deadlines
        self._loop = asyncio.get_running_loop()
        self._reached: Limit | None = None
        self._waiter: asyncio.Task[object] | None = None
        self._has_cancelled = False
        self._timer: asyncio.TimerHandle | None = None
        self._began = self._since = 0.0
        self._has_piece = False

    def __enter__(self) -> Self:
        if self._guard.stopped():
            self._reached = "stopped"
        self._guard.on_stop(lambda: self._reach("stopped"))
        return self

    def begin(self) -> None:
        """Start the deadlines of an inference."""
        self._began = self._loop.time()
        if self._deadlines:
            self._look_at_the_clock()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._guard.on_stop(_nothing)
        if self._timer:
            self._timer.cancel()

    async def next(self, pieces: AsyncGenerator[T, None]) -> T:
        """The next piece. Raises `WaitEnded` at a limit, `StopAsyncIteration` at the end."""
        self._since = self._loop.time()
        piece = await self.wait(pieces.__anext__)
        if not self._has_piece:
            self._has_piece = True
            self._look_earlier()
        return piece

    async def wait(self, start: Callable[[], Awaitable[T]]) -> T:
        """Start something and await it. Raises `WaitEnded` at a limit."""
        task = asyncio.current_task(self._loop)
        assert task is not None, "a conversation runs in a task"
        if self._reached:
            raise WaitEnded(self._reached)
        cancelled_before = task.cancelling()
        self._waiter = task
        try:
            return await start()
        except asyncio.CancelledError:
            if self._takes_back(task) and task.cancelling() <= cancelled_before and self._reached:
                raise WaitEnded(self._reached) from None
            raise
        finally:
            self._waiter = None
            if self._has_cancelled:
                self._takes_back(task)  # what was awaited may have swallowed the cancellation

    def _reach(self, limit: Limit) -> None:
        if self._reached is None:
            self._reached = limit
            # Called from inside the wait itself, a cancellation could arrive after its end.
            if self._waiter and self._waiter is asyncio.current_task():
                self._loop.call_soon(self._interrupt)
            else:
                self._interrupt()

    def _interrupt(self) -> None:
        if self._waiter:
            self._has_cancelled = self._waiter.cancel()

    def _takes_back(self, task: asyncio.Task[object]) -> bool:
        """Undo our cancellation of `task`, once. False if there is none."""
        if not self._has_cancelled:
            return False
        self._has_cancelled = False
        task.uncancel()
        return True

    def _look_earlier(self) -> None:
        """The timer may be set to the first piece's deadline, far behind the idle one that holds now."""
        if (
            self._timer
            and self._deadlines
            and self._timer.when() > self._loop.time() + self._deadlines.idle_s
        ):
            self._timer.cancel()
            self._look_at_the_clock()

    def _look_at_the_clock(self) -> None:
        """End the wait if it is time, else look again when it would be.

        One timer serves all limits; a piece only moves a number, so that it costs next to nothing.
        """
        assert self._deadlines is not None, "only a step with deadlines has a clock"
        now, limits = self._loop.time(), self._deadlines
        dues: list[tuple[float, Limit]] = [(self._began + limits.whole_s, "inference_timeout")]
        if not self._has_piece:
            dues.append((self._began + limits.first_piece_s, "first_token_timeout"))
        elif self._waiter:
            dues.append((self._since + limits.idle_s, "idle_timeout"))
        else:
            dues.append((now + limits.idle_s, "idle_timeout"))
        due, limit = min(dues)
        if due <= now:
            self._reach(limit)
        else:
            self._timer = self._loop.call_at(due, self._look_at_the_clock)


def _nothing() -> None:
    """Nobody waits."""
