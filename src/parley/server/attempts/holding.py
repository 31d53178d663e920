"""One attempt in the hands of this process: played, kept step by step, ended."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from parley.engine.ports import Clock
from parley.engine.script.attempt import Moment
from parley.engine.script.faults import Phase
from parley.engine.script.record import AttemptRecord, ErrorRecord, StepRecord
from parley.server.attempts.end import (
    WORKER_BROKE,
    WORKER_LOST,
    WORKER_STOPPED,
    cut_short,
    end,
    not_begun,
    refused,
)
from parley.server.attempts.keep import LeaseLost
from parley.server.attempts.playing import Playing, Work
from parley.server.attempts.ports import Player
from parley.server.db.database import Database
from parley.server.errors import DatabaseAway
from parley.server.journal.keep import patiently
from parley.server.kit.tasks import end_tasks

MOST_TAKES: Final = 3
"""Workers that may be lost over one attempt, even where it may be played again."""
_KEPT_MOMENTS: Final[tuple[Moment, ...]] = ("case-started", "step-completed")

_log = logging.getLogger(__name__)


class Holding:
    """A claimed attempt."""

    def __init__(self, work: Work, player: Player, database: Database, clock: Clock) -> None:
        self.work = work
        self.playing = Playing(work, database)
        self._player = player
        self._database = database
        self._clock = clock
        self._latest = work.record
        self._news = asyncio.Event()

    @property
    def is_left_to_others(self) -> bool:
        """Whether another worker can take it over without harm."""
        return self._player.resumes or self.work.replay_safe

    async def carry_out(self) -> None:
        """Play to the end and write it. Raises `LeaseLost`."""
        await self._end(await self._played())

    async def stop_short(self) -> None:
        """End it as this worker stops, with the evidence that there is. Raises `LeaseLost`."""
        await self._end(cut_short(self.work.plan, self._clock, self._latest, WORKER_STOPPED))

    async def _played(self) -> AttemptRecord:
        work = self.work
        is_fresh = self.playing.is_new or not self._player.resumes
        if work.is_cancelled and work.record is None and is_fresh:
            return not_begun(work.plan, self._clock)
        if work.takes > MOST_TAKES or not (self.playing.is_new or self.is_left_to_others):
            return cut_short(work.plan, self._clock, work.record, WORKER_LOST)
        if work.is_cancelled:
            self.playing.stopping.request()
        refusal = work.funds.refusal
        if refusal is not None and is_fresh:
            code, message = refusal
            return refused(work.plan, self._clock, ErrorRecord(phase="setup", code=code, message=message))
        return await self._by_player()

    async def _by_player(self) -> AttemptRecord:
        keeping = asyncio.create_task(self._keep(), name=f"keep-{self.work.held.attempt_id}")
        playing = asyncio.ensure_future(self._player.play(self.playing, self.work.plan, self._tell))
        try:
            await asyncio.wait((playing, keeping), return_when=asyncio.FIRST_COMPLETED)
            if not playing.done():
                keeping.result()  # raises: it never ends by itself
            return playing.result()
        except (LeaseLost, DatabaseAway):
            raise
        except Exception:
            # A fault of ours would come again in every worker: end it, so that its owner is told.
            _log.exception("attempt %s broke", self.work.held.attempt_id)
            return cut_short(self.work.plan, self._clock, self._latest, WORKER_BROKE)
        finally:
            await end_tasks(playing, keeping)

    def _tell(
        self, moment: Moment, record: AttemptRecord, _phase: Phase | None, _step: StepRecord | None
    ) -> None:
        self._latest = record
        if moment in _KEPT_MOMENTS:
            self._news.set()

    async def _keep(self) -> None:
        """Keep every step as it is completed, so that a lost worker loses no evidence."""
        while True:
            await self._news.wait()
            self._news.clear()
            await self.playing.keep(self._latest)

    async def _end(self, record: AttemptRecord) -> None:
        work = self.work
        await patiently(lambda: end(self._database, work.held, work.plan, record))
