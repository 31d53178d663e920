"""Simulated cases judged again: the conversation that their run kept, by another judge or other criteria."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from parley.engine.chat.pieces import Usage
from parley.engine.events import Entry, Opinion, Spent
from parley.engine.judging.prompt import PROMPT_VERSION
from parley.engine.rejudge import Rejudged, judge_again
from parley.server.custom_evaluations.grader import Judges, PricedJudge, named_judge
from parley.server.custom_evaluations.work import Held, Work
from parley.server.definitions.snapshot import Snapshot, spec_of
from parley.server.errors import InvalidRequest
from parley.server.evaluations.new import Score, skipped
from parley.server.evaluations.schemas import Regrade
from parley.server.queue.pokes import Poke

_TEN: Final = Decimal(10)
_ONE_OPINION: Final = "is for datasets; a conversation is judged by one opinion a turn"
_OUTCOME: Final = "is for datasets; a conversation passes by its test's own thresholds"
NOTHING_TO_JUDGE: Final = skipped("no_transcript", "There is no conversation to judge again.")


class ConversationGrader:
    """What regrading of suites borrows of this room."""

    def __init__(self, judges: Judges, poke: Poke) -> None:
        self._judges = judges
        self._poke = poke

    def changed(self, grading: Mapping[str, Any], changes: Regrade) -> dict[str, Any]:
        """The grading with the changes; without a judge of its own each case keeps that of its run.

        Raises `InvalidRequest`, `LlmsNotConfigured`.
        """
        meaningless = [
            (name, problem)
            for name, problem in (("votes", _ONE_OPINION), ("pass_rating", _OUTCOME))
            if getattr(changes, name) is not None
        ]
        if meaningless:
            raise InvalidRequest.faults(meaningless)
        judge = named_judge(self._judges, changes)
        new = {
            "judge": judge,
            "criteria": changes.criteria,
            "case_criteria": None if changes.case_criteria is None else dict(changes.case_criteria),
        }
        given = {name: value for name, value in new.items() if value is not None}
        return {**grading, **given, "prompt": PROMPT_VERSION}

    async def announce(self, evaluation_id: UUID) -> None:
        """Wake the scorers; without it they find the results at their next tick."""
        await self._poke.give()


def judge_of(run: Held, grading: Mapping[str, Any], judges: Judges) -> PricedJudge:
    """The judge that the regrade names, or that of the run. Raises `JudgeGone`."""
    named = grading.get("judge")
    if named is None:
        profile = Snapshot.model_validate(run.definition).profile
        named = {"profile": profile.name, "llm": profile.judge.model}
    return judges.judge(named)


async def rejudged(
    work: Work,
    run: Held,
    kept: Iterable[Entry],
    judge: PricedJudge,
    judges: Judges,
    spend: Callable[[Usage], None],
) -> Score:
    """The score of a conversation that is judged again. What each attempt used goes to `spend` at once."""
    snapshot = Snapshot.model_validate(run.definition)
    if snapshot.resource_texts is None:
        return NOTHING_TO_JUDGE  # it never began
    spec = spec_of(snapshot, run.seed)
    criteria = _criteria_of(work) or spec.validation_criteria
    spec = replace(spec, hooks=(), validation_criteria=criteria)

    def spent(made: Opinion | Spent) -> None:
        if made.usage is not None:
            spend(made.usage)

    return _score(await judge_again(spec, kept, judge.speaker, judges.clock, judges.deadlines, spent))


def _criteria_of(work: Work) -> str | None:
    by_case: Mapping[str, str] = work.grading.get("case_criteria") or {}
    return by_case.get(work.case_id) or work.grading.get("criteria")


def _score(found: Rejudged) -> Score:
    told: dict[str, Any] = {"judgement": {"opinions": [_opinion(each) for each in found.opinions]}}
    if found.failure is not None:
        return skipped("judge_unreadable", found.failure.message, **told)
    if not found.opinions:
        return NOTHING_TO_JUDGE
    last, verdict = found.opinions[-1], found.verdict
    told["judgement"] |= {
        "outcome": verdict.outcome if verdict else "incomplete",
        # The judge before ended it here; this one would have let it go on, and nobody knows where to.
        "reason": verdict.reason if verdict else "transcript_ended",
        "state": verdict.state if verdict else last.state,
        "turn_number": last.turn,
        "conversation_delta": float(last.conversation_delta),
        "loss_streak": last.loss_streak,
    }
    return Score(
        status="rated",
        rating=_TEN * last.conversation_delta,
        passed=verdict is not None and verdict.outcome == "success",
        justification=last.reasoning,
        **told,
    )


def _opinion(made: Opinion) -> dict[str, Any]:
    return {
        "turn": made.turn,
        "score": float(made.score),
        "conversation_delta": float(made.conversation_delta),
        "state": made.state,
        "reasoning": made.reasoning,
    }
