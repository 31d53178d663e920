"""Asking a judge for the rating of one answer: attempts, votes, and what each attempt used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any, Final

from parley.engine.attempt import Attempt
from parley.engine.chat import retry
from parley.engine.chat.faults import InferenceFault
from parley.engine.chat.pieces import Usage
from parley.engine.draws import Draw
from parley.engine.grading.evidence import Evidence
from parley.engine.grading.prompt import RATING_SCHEMA, rating_messages
from parley.engine.grading.rating import RATING, Vote, decided
from parley.engine.judging.opinion import OpinionUnreadable, ReadOpinion, read_opinion
from parley.engine.messages import joined
from parley.engine.patience import Patience
from parley.engine.ports import AttemptOptions, Clock, Deadlines, Speaker, Stop
from parley.engine.spec import MAX_ATTEMPTS

_SCHEMA_REFUSALS: Final = (400, 422)
"""Statuses after which the judge is asked again without a schema: some endpoints know none."""


class NeverStopped:
    """The guard of a call that is ended by cancelling its task alone."""

    async def may_start_turn(self, turn: int) -> Stop | None:
        """It may."""
        return None

    def stopped(self) -> Stop | None:
        """It is not."""
        return None

    def on_stop(self, interrupt: Callable[[], None]) -> None:
        """Nobody will."""


class RatingJudge:
    """Asks one llm for ratings. What each attempt used goes to `spend` as soon as the attempt is over."""

    def __init__(
        self,
        speaker: Speaker,
        clock: Clock,
        deadlines: Deadlines,
        spend: Callable[[Usage], None],
    ) -> None:
        self._speaker = speaker
        self._clock = clock
        self._deadlines = deadlines
        self._spend = spend

    async def rate(self, evidence: Evidence, votes: int, seed: str) -> tuple[Vote, list[Vote]]:
        """The vote that counts, and all of them. Raises nothing that a judge could cause.

        `seed` spreads the waits between attempts, so that answers that failed together do not come back
        together.
        """
        ballots = (_Ballot(self, evidence, number, seed) for number in range(votes))
        cast = await asyncio.gather(*(ballot.vote() for ballot in ballots))
        return decided(cast), cast

    async def ask(self, evidence: Evidence, vote: int, problem: str | None, schema: bool) -> ReadOpinion:
        """One attempt. Raises `InferenceFault`, `OpinionUnreadable`."""
        options = AttemptOptions(response_schema=RATING_SCHEMA if schema else None)
        with Patience(NeverStopped(), self._deadlines) as patience:
            messages = rating_messages(evidence, vote, problem)
            attempt = Attempt(self._speaker, messages, options, patience, self._clock)
            try:
                async with aclosing(attempt.parts()) as parts:
                    async for _ in parts:
                        pass
            finally:
                used = attempt.usage() if attempt.closing else attempt.spent_usage()
                if used is not None:
                    self._spend(used)
        return _read(attempt)

    async def wait(self, attempt: int, fault: InferenceFault, seed: str) -> None:
        """Wait before the attempt that follows number `attempt` (from 1)."""
        chance = Draw(f"{seed}/{attempt}/rating").random()
        await self._clock.sleep(retry.delay_s(attempt, fault, chance))


def _read(attempt: Attempt) -> ReadOpinion:
    if attempt.fault is not None:
        raise attempt.fault
    closing: Any = attempt.closing  # without a fault and never stopped, there is one
    refused = bool(joined(attempt.received, "refusal"))
    return read_opinion(joined(attempt.received, "content"), closing.finish_reason, refused, RATING)


class _Ballot:
    """One vote: up to `MAX_ATTEMPTS` attempts at a reply that can be read."""

    def __init__(self, judge: RatingJudge, evidence: Evidence, number: int, seed: str) -> None:
        self._judge = judge
        self._evidence = evidence
        self._number = number
        self._seed = f"{seed}/{number}"
        self._problem: str | None = None
        self._asks_schema = True
        self._fault: InferenceFault | None = None

    async def vote(self) -> Vote:
        vote, goes_on = await self._try()
        for attempt in range(1, MAX_ATTEMPTS):
            if not goes_on:
                break
            if self._fault is not None and self._fault.retryable:
                await self._judge.wait(attempt, self._fault, self._seed)
            vote, goes_on = await self._try()
        return vote

    async def _try(self) -> tuple[Vote, bool]:
        """The vote after one attempt, and whether another may help."""
        self._fault = None
        try:
            read = await self._judge.ask(self._evidence, self._number, self._problem, self._asks_schema)
        except OpinionUnreadable as unreadable:
            self._problem = unreadable.problem
            return Vote(opinion=None, problem=unreadable.problem, code=unreadable.code), True
        except InferenceFault as fault:
            self._fault = fault
            return Vote(opinion=None, problem=fault.message, code=fault.code), self._may_help(fault)
        return Vote(opinion=read), False

    def _may_help(self, fault: InferenceFault) -> bool:
        if self._asks_schema and fault.status in _SCHEMA_REFUSALS:
            self._asks_schema = False
            return True
        return fault.retryable
