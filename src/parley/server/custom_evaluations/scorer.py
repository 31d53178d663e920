"""Scores waiting results, in every worker process. Claims are rows; the queue only wakes early."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, NoReturn

from redis.exceptions import RedisError

from parley.engine.chat.pieces import Usage
from parley.engine.checks.run import CheckResult
from parley.engine.grading.judge import RatingJudge
from parley.server.custom_evaluations.grader import JudgeGone, Judges, PricedJudge
from parley.server.custom_evaluations.payment import Purse, pay, purse_of
from parley.server.custom_evaluations.repository import Work, WorkRepository
from parley.server.custom_evaluations.scoring import checked, judged, passed_over, settled
from parley.server.db.database import Database
from parley.server.errors import DatabaseAway, NotFound
from parley.server.evaluations import scoring
from parley.server.evaluations.new import Score, skipped
from parley.server.evaluations.scoring import Claimed
from parley.server.journal.keep import patiently
from parley.server.kit.tasks import end_tasks
from parley.server.queue.pokes import Poke

DRAIN_S: Final = 5.0
"""How long a worker that stops waits for the judges it has asked; then others ask again."""

_REFUSALS: Final = {
    "balance_exhausted": "The account's balance is used up, so no judge was asked.",
    "account_suspended": "The account is suspended, so no judge was asked.",
}
_log = logging.getLogger(__name__)


class LeaseLost(Exception):
    """Another scorer has the result, or it has ended: nothing is written, and nothing charged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringLimits:
    """How results are held. Seconds, except `concurrency`: the results of this process at once."""

    concurrency: int
    lease_s: float
    heartbeat_s: float
    tick_s: float


class Scorer:
    """Enter it to begin, `drain` before leaving. What is still held then waits for its lease to end."""

    def __init__(self, database: Database, judges: Judges, poke: Poke, limits: ScoringLimits) -> None:
        self._database = database
        self._judges = judges
        self._poke = poke
        self._limits = limits
        self._held: dict[asyncio.Task[None], Claimed] = {}
        self._freed = asyncio.Event()
        self._was_full = False

    @property
    def held(self) -> int:
        """How many results this process is scoring."""
        return len(self._held)

    async def run(self) -> NoReturn:
        """Claim what waits, at every tick, poke, and whenever there is room again, until cancelled."""
        heartbeat = asyncio.create_task(self._beat(), name="scoring-heartbeat")
        try:
            while True:
                await self._rest(await self._tried())
        finally:
            await end_tasks(heartbeat)

    async def _tried(self) -> bool:
        try:
            return await self._take() > 0 and self._was_full
        except DatabaseAway:
            _log.warning("scoring: the database is away")
        except Exception:
            _log.exception("scoring failed; it is tried again at the next tick")
        return False

    async def close(self) -> None:
        """Drop what is held, as a process does that dies."""
        await end_tasks(*self._held)

    async def drain(self) -> None:
        """Wait a little for what is held, and hand the rest to others. Call it once `run` has ended."""
        if self._held:
            await asyncio.wait(set(self._held), timeout=DRAIN_S)
        left = dict(self._held)
        await end_tasks(*left)
        async with self._database.session() as session:
            for held in left.values():
                await scoring.release(session, held)

    async def once(self) -> int:
        """Claim what there is room for and score it to its end; how many. For tests and tools."""
        taken = await self._take()
        while self._held:
            await asyncio.wait(set(self._held))
        return taken

    async def _take(self) -> int:
        free = self._limits.concurrency - len(self._held)
        if free <= 0:
            return 0
        async with self._database.session() as session:
            claimed = await scoring.claim(session, free, self._limits.lease_s)
        for held in claimed:
            task = asyncio.create_task(self._score(held), name=f"score-{held.result_id}")
            self._held[task] = held
            task.add_done_callback(self._ended)
        self._was_full = len(claimed) == free
        if self._was_full:
            await self._poke.give()  # there may be more, and others may have room
        return len(claimed)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._held.pop(task, None)
        self._freed.set()

    async def _rest(self, more: bool) -> None:
        """Until a claim is worth it: with `more` waiting once there is room, else at a poke or tick."""
        if not more:
            await self._poked()
            return
        # A claim looks at all that waits, so a hand is filled at a time; slow judges do not hold it up.
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.tick_s):
                await self._room(max(1, self._limits.concurrency // 2))
        await self._room(1)

    async def _room(self, wanted: int) -> None:
        while self._limits.concurrency - len(self._held) < wanted:
            self._freed.clear()
            await self._freed.wait()

    async def _poked(self) -> None:
        try:
            await self._poke.wait(self._limits.tick_s)
        except (RedisError, OSError):
            await asyncio.sleep(self._limits.tick_s)

    async def _beat(self) -> NoReturn:
        while True:
            await asyncio.sleep(self._limits.heartbeat_s)
            try:
                await self._renew()
            except DatabaseAway:
                _log.warning("scoring: leases could not be renewed, the database is away")

    async def _renew(self) -> None:
        async with self._database.session() as session:
            for task, held in list(self._held.items()):
                if not await scoring.renew(session, held, self._limits.lease_s):
                    task.cancel()

    async def _score(self, held: Claimed) -> None:
        try:
            outcome = await self._outcome(held)
            await patiently(lambda: self._end(held, outcome))
        except (LeaseLost, NotFound):
            _log.info("result %s was scored by another, or is gone", held.result_id)
        except Exception:
            _log.exception("result %s broke in this worker; its lease will end", held.result_id)

    async def _outcome(self, held: Claimed) -> _Outcome:
        if held.is_worn_out:
            return _Outcome(score=skipped("scorer_lost", "Scoring was begun too often without an end."))
        work = await patiently(lambda: self._work(held))
        checks = await checked(work)
        score = settled(checks)
        if score is not None:
            return _Outcome(score=score)
        try:
            judge = self._judges.judge(work.grading.get("judge", {}))
        except JudgeGone:
            message = "The judge of this run is not on offer any longer."
            return _Outcome(score=passed_over("judge_unavailable", message, checks))
        return await self._judged(held, work, checks, judge)

    async def _judged(
        self, held: Claimed, work: Work, checks: Sequence[CheckResult], judge: PricedJudge
    ) -> _Outcome:
        purse = await patiently(lambda: self._purse(held, judge))
        if purse.refusal is not None:
            return _Outcome(score=passed_over(purse.refusal, _REFUSALS[purse.refusal], checks))
        spent: list[Usage] = []
        asked = RatingJudge(judge.speaker, self._judges.clock, self._judges.deadlines, spent.append)
        score = await judged(work, checks, asked)
        score = replace(score, cost_usd=purse.total(spent))
        return _Outcome(score=score, purse=purse, spent=spent, name=judge.name)

    async def _work(self, held: Claimed) -> Work:
        async with self._database.session() as session:
            work = await WorkRepository(session, held.scope).work(held.result_id)
        if work is None:
            raise LeaseLost
        return work

    async def _purse(self, held: Claimed, judge: PricedJudge) -> Purse:
        async with self._database.session() as session:
            return await purse_of(session, held, judge.prices)

    async def _end(self, held: Claimed, outcome: _Outcome) -> None:
        """Charge and score in one transaction. Raises `LeaseLost`, with nothing written."""
        async with self._database.session() as session:
            purse = outcome.purse
            if purse is not None and not await pay(session, held, purse, outcome.spent, outcome.name):
                raise LeaseLost
            ended = await scoring.score(
                session, held.scope, held.evaluation_id, held.result_id, outcome.score, held=held
            )
            if ended is None:
                raise LeaseLost


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """The score of a result, and what its judge used, if one was asked."""

    score: Score
    purse: Purse | None = None
    spent: Sequence[Usage] = ()
    name: str | None = None
