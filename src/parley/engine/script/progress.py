"""Telling how a run goes: snapshots in order, to a listener that can disturb nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from parley.engine.script.faults import Phase, PhaseFailed
from parley.engine.script.record import AttemptRecord, ErrorRecord, StepRecord
from parley.engine.script.status import Counts
from parley.engine.script.told_errors import error_record
from parley.engine.script.wire import Millis, Wire

ProgressType: TypeAlias = Literal[
    "run-started", "case-started", "case-progress", "step-completed", "case-completed", "run-completed"
]


class Progress(Wire):
    """A snapshot: nothing in it changes later. `sequence` counts from 1 without gaps."""

    type: ProgressType
    sequence: int
    at: Millis
    run_id: str
    counts: Counts
    phase: Phase | None = None
    attempt: AttemptRecord | None = None
    step: StepRecord | None = None


Listener: TypeAlias = Callable[[Progress], Awaitable[None] | None]


class Teller:
    """Hands events to a listener in order, in a task of its own, so that a slow one holds nothing up.

    Enter it, `tell`, leave it: leaving waits up to `close_s` seconds for what was not heard yet. What
    the listener raises ends up in `errors`, once, and nowhere else.
    """

    def __init__(self, listener: Listener | None, *, close_s: float) -> None:
        self.errors: list[ErrorRecord] = []
        self._listener = listener
        self._close_s = close_s
        self._queue: asyncio.Queue[Progress | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    def tell(self, event: Progress) -> None:
        """Hand on `event`, without waiting."""
        if self._listener:
            self._queue.put_nowait(event)

    async def __aenter__(self) -> Teller:
        if self._listener:
            self._task = asyncio.create_task(self._hand_on(self._listener))
        return self

    async def __aexit__(self, *_exc: object) -> None:
        if self._task is None:
            return
        self._queue.put_nowait(None)
        _heard, late = await asyncio.wait({self._task}, timeout=self._close_s)
        if late:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=self._close_s)
            told = f"The progress listener was {self._close_s:g} seconds late."
            self._note(PhaseFailed("reporting", "listener_late", told))

    async def _hand_on(self, listener: Listener) -> None:
        while (event := await self._queue.get()) is not None:
            try:
                heard = listener(event)
                if heard is not None:
                    await heard
            except Exception as error:
                self._note(error)

    def _note(self, error: Exception) -> None:
        if not self.errors:
            self.errors.append(error_record("reporting", error))
