"""One result: what its case, its run's grader and its transcript make of it. No database here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any, Final

from parley.engine.chat.pieces import Usage
from parley.engine.checks.run import Answered, CheckResult, rating_after, run_checks
from parley.engine.checks.shapes import Check, read_checks
from parley.engine.grading.evidence import Asked, Evidence
from parley.engine.grading.judge import RatingJudge
from parley.engine.grading.rating import Vote
from parley.engine.script.revision import digest
from parley.server.custom_evaluations.grader import criteria_told
from parley.server.custom_evaluations.schemas import DEFAULT_PASS_RATING
from parley.server.custom_evaluations.work import Work
from parley.server.evaluations.new import Score, skipped
from parley.server.kit.text import is_storable

TRAJECTORY_ID: Final = "expectedTrajectory"
"""The id of the check that a case's `expectedTrajectory` stands for."""

MakeJudge = Callable[[Callable[[Usage], None]], RatingJudge]
"""A judge that tells what it used. Raises `JudgeGone`."""


async def checked(work: Work) -> tuple[CheckResult, ...]:
    """The checks of case and settings on the answer, off the loop: bad cases take seconds of CPU."""
    checks = checks_of(work)
    return await asyncio.to_thread(run_checks, checks, answered_of(work)) if checks else ()


async def judged(work: Work, checks: Sequence[CheckResult], judge: RatingJudge) -> Score:
    """The score with the judge's rating. A judge that cannot be read makes it skipped, never 0."""
    votes = int(work.grading.get("votes", 1))
    counting, cast = await judge.rate(evidence_of(work), votes, digest(work.transcript))
    told: dict[str, Any] = {
        "checks": _told(checks),
        "judgement": {"votes": [_vote(vote) for vote in cast]},
    }
    if counting.opinion is None:
        message = f"The judge gave no rating that can be read. {counting.problem}"
        return skipped("judge_unreadable", message, **told)
    rating = counting.opinion.score.quantize(_PLACES)
    mark = work.pass_rating if work.pass_rating is not None else DEFAULT_PASS_RATING
    return Score(
        status="rated",
        rating=rating,
        passed=rating >= mark,
        justification=counting.opinion.reasoning,
        **told,
    )


def settled(checks: Sequence[CheckResult]) -> Score | None:
    """The score where checks that must pass decide it, so that no judge is asked; None where they do not."""
    asked = Decimal(1)
    rating = rating_after(asked, checks)
    if rating == asked:
        return None
    if rating is None:
        undecided = next(check for check in checks if check.must_pass and check.passed is None)
        message = f"The check {_name(undecided)}, which must pass, could not run. {undecided.detail}"
        return skipped("check_could_not_run", message, checks=_told(checks))
    failed = next(check for check in checks if check.must_pass and check.passed is False)
    return Score(
        status="rated",
        rating=Decimal(0),
        passed=False,
        justification=f"The check {_name(failed)}, which must pass, failed. {failed.detail}",
        checks=_told(checks),
    )


def passed_over(kind: str, message: str, checks: Sequence[CheckResult]) -> Score:
    """The score of a result that no judge was asked about."""
    return skipped(kind, message, checks=_told(checks))


def checks_of(work: Work) -> list[Check]:
    """The checks of the case, then those of the settings, then the expected trajectory."""
    main = _main(work)
    plain = [*main.get("checks", []), *work.grading.get("checks", [])]
    trajectory = main.get("expectedTrajectory")
    if trajectory:
        plain.append({"type": "trajectory", "id": TRAJECTORY_ID, "mode": "unordered", **trajectory})
    return read_checks_in_parts(plain)


def read_checks_in_parts(plain: Sequence[Any]) -> list[Check]:
    """Stored checks; each list was bounded by itself when it came in, all together they may be more."""
    return [check for one in plain for check in read_checks([one])]


def answered_of(work: Work) -> Answered:
    """The answer as checks see it."""
    told = work.transcript
    cost = (told.get("usage") or {}).get("costUsd")
    calls = told.get("toolCalls")
    return Answered(
        text=answer_of(told),
        tools=None if calls is None else tuple(call["name"] for call in calls),
        duration_ms=work.duration_ms,
        cost_usd=None if cost is None else Decimal(str(cost)),
        expected=_main(work).get("expectedResults"),
    )


def evidence_of(work: Work) -> Evidence:
    """What the judge gets."""
    told, main = work.transcript, _main(work)
    follow_ups = work.content.get("follow_up_questions", [])
    questions = [main, *follow_ups]
    calls, turns, retrieved = (told.get(name) for name in ("toolCalls", "turns", "retrievalContext"))
    return Evidence(
        questions=tuple(
            Asked(query=each["query"], expected=each.get("expectedResults")) for each in questions
        ),
        answer=answer_of(told),
        guideline=main.get("judgeGuideline"),
        criteria=criteria_told(work.grading),
        expected_tools=main.get("expectedTrajectory"),
        turns=None if turns is None else tuple(turns),
        tool_calls=None if calls is None else tuple(calls),
        retrieved=None if retrieved is None else tuple(retrieved),
    )


def answer_of(transcript: Mapping[str, Any]) -> str:
    """The words of the answer."""
    text = (transcript.get("output") or {}).get("text", "")
    return text if isinstance(text, str) and is_storable(text) else ""


def _main(work: Work) -> Mapping[str, Any]:
    """The main question; the whole content of a case that has no other."""
    main: Mapping[str, Any] = work.content.get("main_question") or work.content
    return main


def _told(checks: Sequence[CheckResult]) -> list[dict[str, Any]]:
    return [asdict(check) for check in checks]


def _vote(vote: Vote) -> dict[str, Any]:
    if vote.opinion is None:
        return {"rating": None, "reasoning": None, "code": vote.code, "problem": vote.problem}
    return {"rating": float(vote.opinion.score), "reasoning": vote.opinion.reasoning}


def _name(check: CheckResult) -> str:
    return f"'{check.id}'" if check.id else f"of type {check.type}"


_PLACES = Decimal("0.0001")
"""Places of a rating that are kept: more than any judge means."""
