"""Writes that go together: what arrives while a group is under way makes up the next one."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

MOST_IN_GROUP = 64
"""A group holds its locks until all of it is written; a larger one would keep others waiting for longer."""
SLOW_S = 0.02
"""A group that takes longer waits for a lock, and holds up nobody else: the next one leaves beside it."""
MOST_UNDER_WAY = 4
"""Each group has a connection of its own."""

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class _Waiting(Generic[T, R]):
    owner: Hashable
    item: T
    written: asyncio.Future[R]


class Groups(Generic[T, R]):
    """Gathers items into groups; an item that finds none under way leaves at once, alone.

    Who adds an item waits until its group is written, so nothing is under way once nobody waits.
    `write` gives the results of a group in its order, an exception in the place of an item that failed.
    """

    def __init__(self, write: Callable[[Sequence[T]], Awaitable[Sequence[R | Exception]]]) -> None:
        self._write = write
        self._waiting: list[_Waiting[T, R]] = []
        self._under_way: dict[asyncio.Task[None], Sequence[_Waiting[T, R]]] = {}
        self._newest: asyncio.Task[None] | None = None
        """The group that others wait for, until it is written or slow."""

    async def add(self, owner: Hashable, item: T) -> R:
        """Write `item`, for its result. Items of an `owner` never overtake each other's groups."""
        waiting: _Waiting[T, R] = _Waiting(owner, item, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if self._newest is None:
            self._send()
        try:
            return await waiting.written
        except asyncio.CancelledError:
            self._stop_what_nobody_waits_for()
            raise

    def _stop_what_nobody_waits_for(self) -> None:
        """Who was ended while the database is away must not write once it is back."""
        self._waiting = [one for one in self._waiting if not one.written.done()]
        for task, group in self._under_way.items():
            if all(one.written.done() for one in group):
                task.cancel()

    def _send(self) -> None:
        """Let the next group leave, if there is one."""
        group = self._next_group() if len(self._under_way) < MOST_UNDER_WAY else []
        if not group:
            return
        nobodys = contextvars.Context()  # a group belongs to none of the runs in it
        self._newest = task = asyncio.create_task(self._carry(group), name="write-group", context=nobodys)
        self._under_way[task] = group
        task.add_done_callback(self._arrived)
        asyncio.get_running_loop().call_later(SLOW_S, self._let_pass, task)

    def _next_group(self) -> list[_Waiting[T, R]]:
        busy = {one.owner for group in self._under_way.values() for one in group}
        group: list[_Waiting[T, R]] = []
        left: list[_Waiting[T, R]] = []
        for one in self._waiting:
            fits = one.owner not in busy and len(group) < MOST_IN_GROUP
            (group if fits else left).append(one)
        self._waiting = left
        return group

    async def _carry(self, group: Sequence[_Waiting[T, R]]) -> None:
        try:
            results: Sequence[R | Exception] = await self._write([one.item for one in group])
        except Exception as fault:
            results = [fault] * len(group)
        except asyncio.CancelledError:
            for one in group:
                one.written.cancel()
            raise
        for one, result in zip(group, results, strict=True):
            _tell(one.written, result)

    def _arrived(self, task: asyncio.Task[None]) -> None:
        del self._under_way[task]
        self._let_pass(task)

    def _let_pass(self, task: asyncio.Task[None]) -> None:
        """Nobody waits for `task` any longer."""
        if self._newest is task:
            self._newest = None
        if self._newest is None:
            self._send()


def _tell(written: asyncio.Future[R], result: R | Exception) -> None:
    if written.done():
        return  # who waited for it was ended meanwhile
    if isinstance(result, Exception):
        written.set_exception(result)
    else:
        written.set_result(result)
