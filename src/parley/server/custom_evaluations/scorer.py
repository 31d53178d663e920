"""Scores waiting results, in every worker process. Claims are rows; the queue only wakes early."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NoReturn
from uuid import UUID

from redis.exceptions import RedisError

from parley.engine.chat.pieces import Usage
from parley.engine.checks.run import CheckResult
from parley.engine.grading.judge import RatingJudge
from parley.server.custom_evaluations import work as works
from parley.server.custom_evaluations.conversations import NOTHING_TO_JUDGE, judge_of, rejudged
from parley.server.custom_evaluations.grader import JudgeGone, Judges, PricedJudge
from parley.server.custom_evaluations.keep import LeaseLost, Scores, renew
from parley.server.custom_evaluations.payment import Spent, charged
from parley.server.custom_evaluations.scoring import checked, judged, passed_over, settled
from parley.server.custom_evaluations.work import Work
from parley.server.db.database import Database
from parley.server.db.repository import AccountScope
from parley.server.errors import DatabaseAway
from parley.server.evaluations import finish, scoring
from parley.server.evaluations.new import Score, skipped
from parley.server.evaluations.results import take_hold
from parley.server.evaluations.scoring import Claimed
from parley.server.journal.groups import Groups
from parley.server.journal.keep import Journal, patiently
from parley.server.kit.tasks import end_tasks
from parley.server.kit.ticks import every
from parley.server.queue.pokes import Poke

DRAIN_S: Final = 5.0
"""How long a worker that stops waits for the judges it has asked; then others ask again."""
FORGOTTEN_S: Final = 5.0
"""Between two looks for evaluations whose last scorer died before it completed them."""

_REFUSALS: Final = {
    "balance_exhausted": "The account's balance is used up, so no judge was asked.",
    "account_suspended": "The account is suspended, so no judge was asked.",
}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringLimits:
    """How results are held. Seconds, except `concurrency`: the results of this process at once."""

    concurrency: int
    lease_s: float
    heartbeat_s: float
    tick_s: float


@dataclass(slots=True)
class _Open:
    """A result in hand: who is asked about it, and what was used so far."""

    held: Claimed
    work: Work | None
    judge: PricedJudge | None = None
    used: list[Usage] = field(default_factory=list)

    @property
    def spent(self) -> tuple[Spent, ...]:
        """What the attempts so far cost."""
        if self.judge is None or self.work is None:
            return ()
        return charged(self.used, self.judge.prices, self.work.funds, self.judge.name)


class Scorer:
    """The scorer of a process. `drain` hands over what it holds, `close` drops it to its leases."""

    def __init__(self, database: Database, judges: Judges, poke: Poke, limits: ScoringLimits) -> None:
        self._database = database
        self._judges = judges
        self._journal = Journal(database)
        self._poke = poke
        self._limits = limits
        self._scores = Scores(database)
        self._completions: Groups[tuple[UUID, UUID], None] = Groups(self._complete)
        self._held: dict[asyncio.Task[None], _Open] = {}
        self._freed = asyncio.Event()
        self._more_waits = False

    @property
    def held(self) -> int:
        """How many results this process is scoring."""
        return len(self._held)

    def begin(self) -> tuple[asyncio.Task[NoReturn], ...]:
        """Tasks that score what waits, at every tick, poke, and whenever there is room again.

        They go on for ever; whoever begins them ends them, before `drain`.
        """
        return (
            asyncio.create_task(self._claim_on(), name="scoring"),
            asyncio.create_task(self._beat(), name="scoring-heartbeat"),
            asyncio.create_task(self._complete_on(), name="scoring-completion"),
        )

    async def close(self) -> None:
        """Drop what is held, as a process does that dies."""
        await end_tasks(*self._held)

    async def drain(self) -> None:
        """Wait a little for what is held, and hand the rest to others."""
        if self._held:
            await asyncio.wait(set(self._held), timeout=DRAIN_S)
        left = dict(self._held)
        await end_tasks(*left)
        for one in left.values():
            await self._hand_back(one)

    async def _hand_back(self, one: _Open) -> None:
        spent = one.spent
        if spent:
            with suppress(LeaseLost):
                await self._scores.hand_back(one.held, spent)
            return
        async with self._database.session() as session:
            await scoring.release(session, one.held)

    async def _claim_on(self) -> NoReturn:
        while True:
            try:
                await self._take()
            except DatabaseAway:
                _log.warning("scoring: the database is away")
                self._more_waits = False
            except Exception:
                _log.exception("scoring failed; it is tried again at the next tick")
                self._more_waits = False
            await self._rest()

    async def _take(self) -> None:
        """Claim as much as there is room for, and begin to score it."""
        free = self._limits.concurrency - len(self._held)
        async with self._database.session() as session:
            claimed = await scoring.claim(session, free, self._limits.lease_s)
        self._more_waits = len(claimed) == free
        if self._more_waits:
            await self._poke.give()  # others may have room
        wanted = [held for held in claimed if not held.is_worn_out]
        # A claim that is dropped counts as a lost scorer, and three of those skip a result.
        found = await patiently(lambda: works.read(self._database, wanted))
        for held in claimed:
            one = _Open(held, found.get(held.result_id))
            task = asyncio.create_task(self._score(one), name=f"score-{held.result_id}")
            self._held[task] = one
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._held.pop(task, None)
        self._freed.set()

    async def _rest(self) -> None:
        """Until a claim is worth it: if more waits, once there is room; else at a poke or tick."""
        if not self._more_waits:
            await self._poked()
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
        await every(self._limits.heartbeat_s, "renewal of scoring leases", self._renew)

    async def _renew(self) -> None:
        """Hold on to everything; what was lost, or ended by a cancel, is given up."""
        asked = dict(self._held)
        held = [one.held for one in asked.values()]
        kept = await renew(self._database, held, self._limits.lease_s)
        for task, one in asked.items():
            if one.held.result_id not in kept and task in self._held:
                task.cancel()

    async def _complete_on(self) -> NoReturn:
        await every(FORGOTTEN_S, "completion of evaluations", self.complete_forgotten)

    async def complete_forgotten(self) -> None:
        """Complete evaluations whose last scorer died before it could."""
        for account_id, evaluation_id in await works.forgotten(self._database):
            await self._completions.add(evaluation_id, (account_id, evaluation_id))

    async def _score(self, one: _Open) -> None:
        held = one.held
        try:
            score = await self._verdict(one)
            state = await self._scores.keep(held, score, one.spent)
            if state == "scoring":
                await self._completions.add(held.evaluation_id, (held.account_id, held.evaluation_id))
        except LeaseLost:
            _log.info("result %s was scored by another, or has ended", held.result_id)
        except Exception:
            _log.exception("result %s broke in this worker; its lease will end", held.result_id)

    async def _verdict(self, one: _Open) -> Score:
        work = one.work
        if one.held.is_worn_out:
            return skipped("scorer_lost", "Scoring was begun too often without an end.")
        if work is None:
            raise LeaseLost
        checks = await checked(work) if work.kind == "custom" else ()
        score = settled(checks)
        if score is not None:
            return score
        if work.funds.refusal is not None:
            return passed_over(work.funds.refusal, _REFUSALS[work.funds.refusal], checks)
        try:
            return await (
                self._judged(one, work, checks) if work.kind == "custom" else self._rejudged(one, work)
            )
        except JudgeGone:
            gone = "The judge of this run is not on offer any longer."
            return passed_over("judge_unavailable", gone, checks)

    async def _judged(self, one: _Open, work: Work, checks: Sequence[CheckResult]) -> Score:
        judge = one.judge = self._judges.judge(work.grading.get("judge", {}))
        asked = RatingJudge(judge.speaker, self._judges.clock, self._judges.deadlines, one.used.append)
        return await judged(work, checks, asked)

    async def _rejudged(self, one: _Open, work: Work) -> Score:
        run, account_id = work.run, one.held.account_id
        if run is None:
            return NOTHING_TO_JUDGE
        kept = await patiently(lambda: self._journal.read(account_id, run.run_id))
        judge = one.judge = judge_of(run, work.grading, self._judges)
        return await rejudged(work, run, kept, judge, self._judges, one.used.append)

    async def _complete(self, evaluations: Sequence[tuple[UUID, UUID]]) -> list[Exception | None]:
        """Complete each of these, if it waited for these scores alone."""
        for account_id, evaluation_id in sorted(set(evaluations)):
            await patiently(lambda: self._completed(AccountScope(account_id), evaluation_id))  # noqa: B023
        return [None] * len(evaluations)

    async def _completed(self, scope: AccountScope, evaluation_id: UUID) -> None:
        async with self._database.session() as session:
            evaluation = await take_hold(session, scope, evaluation_id)
            await finish.complete_if_scored(session, scope, evaluation)
