"""An attempt under way, told to the store in order, in a task of its own."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from parley.engine.script.attempt import Moment
from parley.engine.script.faults import Phase
from parley.engine.script.progress import Progress
from parley.engine.script.protocol import MAX_EVENT_BYTES, RouteError
from parley.engine.script.record import AttemptRecord, StepRecord
from parley.engine.script.status import Counts, counts_of
from parley.engine.script.work import Stopping
from parley.sdk.evals.clock import SystemClock
from parley.sdk.evals.remote.store import Claim, Event, LeaseLost, Store

PAUSES_S: Final = (0.2, 1.0, 3.0, 6.0)
"""Between tries of a store that fails: together well within a lease."""
_LOG = logging.getLogger("parley.evals")


class StoreLost(Exception):
    """The store did not take an event, however often it was tried."""


class Writer:
    """Keeps the events of one claim. When it cannot, the attempt is stopped: nobody would hear of it."""

    def __init__(self, store: Store, claim: Claim, stopping: Stopping, told: Callable[[], None]) -> None:
        self._store = store
        self._claim = claim
        self._stopping = stopping
        self._told = told
        self._clock = SystemClock()
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._sequence = 0
        self._is_too_large = False
        self._failure: Exception | None = None
        self._task = asyncio.ensure_future(self._write_all())

    def hear(
        self, moment: Moment, record: AttemptRecord, phase: Phase | None, step: StepRecord | None
    ) -> None:
        """Take an event of the engine. The last one is for `finish`."""
        if moment == "case-completed":
            return
        # The record grows with each step: it goes with the first and the last event alone.
        told = record if moment == "case-started" else None
        self._queue.put_nowait(self._event(moment, told, phase, step))

    async def finish(self, record: AttemptRecord) -> None:
        """Keep what is left, and the record. Raises `LeaseLost`, `StoreLost`."""
        self._queue.put_nowait(None)
        await self._task
        if self._failure:
            raise self._failure
        event = self._event("case-completed", record.public(), None, None)
        if self._is_too_large or _bytes_of(event) > MAX_EVENT_BYTES:
            told = f"The record is larger than {MAX_EVENT_BYTES:,} bytes; observe less."
            await self.refuse(RouteError(code="record_too_large", message=told))
            return
        await persistently(lambda: self._store.finish(self._claim, event, None))
        self._told()

    async def refuse(self, error: RouteError) -> None:
        """End without a record. Raises `LeaseLost`, `StoreLost`."""
        await persistently(lambda: self._store.finish(self._claim, None, error))
        self._told()

    async def close(self) -> None:
        """End the task, whatever became of the attempt."""
        self._task.cancel()
        await asyncio.wait({self._task})

    async def _write_all(self) -> None:
        while (event := await self._queue.get()) is not None:
            if self._failure or self._is_too_large:
                continue
            if _bytes_of(event) > MAX_EVENT_BYTES:
                self._is_too_large = True
                self._stopping.request()
                continue
            try:
                await self._append(event)
                self._told()
            except (LeaseLost, StoreLost) as failure:
                self._failure = failure
                self._stopping.request()

    async def _append(self, event: Event) -> None:
        await persistently(lambda: self._store.append(self._claim, event))

    def _event(
        self, moment: Moment, record: AttemptRecord | None, phase: Phase | None, step: StepRecord | None
    ) -> Event:
        self._sequence += 1
        return Progress(
            type=moment,
            sequence=self._sequence,
            at=self._clock.now_ms(),
            run_id=self._claim.attempt_id,
            counts=counts_of([record.status]) if record and moment == "case-completed" else Counts(),
            phase=phase,
            attempt=record,
            step=step,
        ).wire()


async def persistently(act: Callable[[], Awaitable[None]]) -> None:
    """Do it, and again when the store fails. Raises `LeaseLost` at once, `StoreLost` in the end."""
    for pause_s in (*PAUSES_S, None):
        try:
            return await act()
        except LeaseLost:
            raise
        except Exception as error:
            _LOG.warning("The store of attempts failed: %s", type(error).__name__)
            if pause_s is None:
                raise StoreLost from error
            await asyncio.sleep(pause_s)
    raise AssertionError("the last try returns or raises")


def _bytes_of(event: Event) -> int:
    return len(json.dumps(event))
