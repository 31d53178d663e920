"""The judge of a profile: one llm of the operator's, asked by the rubric of the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, TypeAlias

from parley.engine.attempt import Attempt
from parley.engine.chat import retry
from parley.engine.chat.faults import InferenceFault
from parley.engine.chat.pieces import Usage as Used
from parley.engine.draws import Draw
from parley.engine.grading.judge import NeverStopped
from parley.engine.messages import Message, joined
from parley.engine.patience import Patience
from parley.engine.ports import AttemptOptions, Clock, Deadlines, Speaker
from parley.engine.script.faults import JudgeFault
from parley.engine.script.grading import MAX_EVIDENCE_CHARS
from parley.engine.script.observation import Usage
from parley.engine.script.ports import Graded
from parley.engine.script.record import JudgeIdentity
from parley.engine.script.revision import digest
from parley.engine.script.rubric import RUBRIC_VERSION, GradeRequest, judge_messages
from parley.engine.script.usage import total
from parley.engine.spec import MAX_ATTEMPTS
from parley.server.definitions.offer import Offer
from parley.server.kit.ids import new_id
from parley.server.llm.pool import LlmPool
from parley.server.llm.prices import Prices
from parley.server.llm.profiles import ProfileName
from parley.server.telemetry.watch import Watch

DEFAULT_PROFILE: Final[ProfileName] = "low"
"""Who judges where nobody names a profile."""
MOST_S: Final = 50.0
"""For one grade, repeats included: the engine waits 60 s for it, the way to us and back included."""

Spend: TypeAlias = Callable[[Used], Decimal]
"""Is told what an inference used as soon as it is over, kept or not; gives its cost, US dollars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """Who judges in a profile, and what its tokens cost."""

    identity: JudgeIdentity
    speaker: Speaker
    prices: Prices


def watched(seat: Seat, watch: Watch) -> Seat:
    """The same judge, watched."""
    return replace(seat, speaker=watch.speaker(seat.speaker, "judge", seat.prices, NeverStopped()))


class ScriptJudges:
    """The judges of scripted suites that this service has: one for each profile."""

    def __init__(self, pool: LlmPool, offer: Offer, clock: Clock, deadlines: Deadlines) -> None:
        self._pool = pool
        self._offer = offer
        self._clock = clock
        self._deadlines = deadlines

    def seat(self, profile: ProfileName) -> Seat:
        """The judge of a profile. Raises `LlmsNotConfigured`."""
        facts = self._offer.profile_to_play(profile).judge
        endpoint = replace(self._offer.profiles[profile].judge.endpoint, model=facts.model)
        return Seat(
            identity=identity_of(profile, facts.model),
            speaker=self._pool.operator_speaker(endpoint),
            prices=facts.prices.prices(),
        )

    def judge(self, seat: Seat, spend: Spend) -> ScriptJudge:
        """A judge for `engine.script`, whose every inference goes to `spend`."""
        return ScriptJudge(seat, self._clock, self._deadlines, spend)


def identity_of(profile: ProfileName, llm: str) -> JudgeIdentity:
    """Which judge it is: another llm or another rubric is another judge."""
    name = f"parley/{profile}"
    facts = {"id": name, "llm": llm, "rubric": RUBRIC_VERSION}
    return JudgeIdentity(id=name, version_hash=digest(facts), location="service")


class ScriptJudge:
    """`engine.script.ports.Judge` over an llm of the operator's."""

    max_evidence_chars = MAX_EVIDENCE_CHARS

    def __init__(self, seat: Seat, clock: Clock, deadlines: Deadlines, spend: Spend) -> None:
        self.identity = seat.identity
        self._speaker = seat.speaker
        self._clock = clock
        self._deadlines = deadlines
        self._spend = spend

    async def grade(self, request: GradeRequest, problem: str | None) -> Graded:
        """The llm's reply, unread. Raises `JudgeFault` for an llm that cannot be asked.

        A fault that may pass is met by asking again, up to `MAX_ATTEMPTS` times in all; an answer that
        cannot be read is the reader's affair.
        """
        used: list[Usage] = []
        try:
            async with asyncio.timeout(MOST_S):
                answer = await self._answer(judge_messages(request, problem), used)
        except TimeoutError:
            raise JudgeFault("judge_overdue", f"The judge took longer than {MOST_S:g} seconds.") from None
        except InferenceFault as fault:
            raise JudgeFault("judge_failed", f"The judge could not be asked. {fault.message}") from fault
        return Graded(answer=answer, usage=total(used))

    async def _answer(self, messages: Sequence[Message], used: list[Usage]) -> str:
        chances = Draw(str(new_id()))
        for number in range(1, MAX_ATTEMPTS):
            try:
                return await self._ask(messages, used)
            except InferenceFault as fault:
                if not fault.retryable:
                    raise
                await self._clock.sleep(retry.delay_s(number, fault, chances.random()))
        return await self._ask(messages, used)

    async def _ask(self, messages: Sequence[Message], used: list[Usage]) -> str:
        with Patience(NeverStopped(), self._deadlines) as patience:
            attempt = Attempt(self._speaker, messages, AttemptOptions(), patience, self._clock)
            try:
                async with aclosing(attempt.parts()) as parts:
                    async for _ in parts:
                        pass
            finally:
                spent = attempt.usage() if attempt.closing else attempt.spent_usage()
                if spent is not None:
                    used.append(_told(spent, self._spend(spent)))
        if attempt.fault is not None:
            raise attempt.fault
        return joined(attempt.received, "content")


def _told(used: Used, cost: Decimal) -> Usage:
    return Usage(
        model=used.model,
        prompt_tokens=used.prompt_tokens,
        cached_prompt_tokens=used.cached_prompt_tokens,
        completion_tokens=used.completion_tokens,
        cost_usd=f"{cost:f}",
    )
