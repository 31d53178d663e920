"""Finds runs that nobody was told of: lost jobs, lost workers, lost admissions. Works with Redis gone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Literal, TypeAlias
from uuid import UUID

from parley.server.db.database import Database
from parley.server.errors import DatabaseAway
from parley.server.kit.ticks import every
from parley.server.queue.jobs import RunQueue
from parley.server.runs.admit import admit_waiting
from parley.server.runs.claim import due
from parley.server.runs.execute import Executor

QUEUE_PATIENCE_S = 2.0
"""How long an admitted run waits for the queue to bring it to a worker before the sweep does."""

SweepAction: TypeAlias = Literal["taken", "admitted"]
"""`taken`: a worker was lost, or the queue brought the run to none; `admitted`: a free slot was not given."""

_log = logging.getLogger(__name__)


class Sweep:
    """A tick of every worker process. Many may sweep at once: claiming decides who has a run."""

    def __init__(
        self,
        database: Database,
        executor: Executor,
        queue: RunQueue,
        tick_s: float,
        noted: Callable[[SweepAction, int], None] | None = None,
    ) -> None:
        """`noted` is told of how many runs something had to be done about."""
        self._database = database
        self._executor = executor
        self._queue = queue
        self._tick_s = tick_s
        self._noted = noted or _nothing
        self._tasks: set[asyncio.Task[object]] = set()

    async def run(self) -> None:
        """Sweep every tick until cancelled; the runs it found go on."""
        await every(self._tick_s, "sweep", self.once)

    async def once(self) -> None:
        """One sweep: execute what is due here, admit what was forgotten."""
        if self._executor.free:
            found = await due(self._database, self._executor.free, QUEUE_PATIENCE_S)
            self._noted("taken", len(found))
            for run_id in found:
                task = asyncio.create_task(self._execute(run_id), name=f"run-{run_id}")
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        admitted = await admit_waiting(self._database)
        if admitted:
            self._noted("admitted", len(admitted))
            await self._queue.announce(admitted)

    async def _execute(self, run_id: UUID) -> None:
        try:
            await self._executor.execute(run_id)
        except DatabaseAway:
            _log.warning("run %s waits: the database is away", run_id)
        except Exception:
            _log.exception("run %s broke in this worker; its lease will end", run_id)


def _nothing(_action: SweepAction, _count: int) -> None:
    """Nobody wants to know."""
