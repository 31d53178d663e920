"""Whole runs worked out again: what the SDK plays fits, and every lie about it is found."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from parley.engine.script import recheck
from parley.engine.script.reading import problems_of
from parley.engine.script.recheck_run import MOST_TOLD, run_inconsistencies
from parley.engine.script.record import RunRecord
from parley.sdk.evals import Evals

EXPECT = {"type": "answer", "text": {"contains": ["sent"]}, "criteria": ["Is polite."]}
SUITE = {
    "id": "orders",
    "cases": [{"id": name, "steps": [{"message": name, "expect": EXPECT}]} for name in ("first", "second")],
}


class Kind:
    """A judge that is content."""

    async def grade(self, _request: Any, _problem: str | None) -> dict[str, Any]:
        """Passes."""
        return {"passed": True, "reason": "It is.", "evidence": ["was sent"]}


async def agent(turn: Any) -> str:
    """Loses the first order."""
    return "It is lost." if turn.text == "first" else "It was sent."


@pytest.fixture
async def told() -> dict[str, Any]:
    """A run as it is sent, in which one case failed and one passed."""
    evals = Evals(agent=agent, suites=[SUITE], judge=Kind(), defaults={"history": False})
    return (await evals.run(repetitions=2)).wire()


def found(told: dict[str, Any]) -> str:
    """What does not fit, in one text."""
    return "; ".join(one.problem for one in run_inconsistencies(RunRecord.of_wire(told)))


def test_run_fits_its_own_snapshot_with_the_runners_defaults(told: dict[str, Any]) -> None:
    assert found(told) == ""


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("status", "passed", "status is 'passed' and should be 'failed'"),
        ("counts.passed", 4, "counts is"),
        ("suiteRevision", "0" * 64, "suite_revision is"),
        ("suite.onSemanticFailure", "continue", "suite_revision is"),
        ("rubricVersion", "rubric-0", "rubric_version is"),
        ("attempts.0.status", "passed", "the status is passed and should be failed"),
        ("attempts.0.steps.0.status", "passed", "does not follow from its parts"),
        ("attempts.0.steps.0.observation.text", "It was sent.", "its checks do not follow"),
        ("attempts.0.repetition", 3, "the repetitions of case 'first' are not 1 to 2"),
        ("attempts.0.caseId", "third", "the suite has no case 'third'"),
        ("attempts.0.attemptId", "{attempts.1.attemptId}", "two attempts have one attempt_id"),
        ("attempts.0.judge.versionHash", "another", "judge is"),
        ("attempts.0.commit", "another", "its commit or app version is not the run's"),
        ("attempts.2.steps.0.criteria.0.quotes.0.found", False, "its quotes are marked otherwise"),
        ("attempts.2.steps.0.evidence.observation.text", "Well done.", "its evidence does not follow"),
    ],
)
def test_lie_is_found(path: str, value: Any, problem: str, told: dict[str, Any]) -> None:
    *way, last = (int(step) if step.isdigit() else step for step in path.split("."))
    inner: Any = told
    for step in way:
        inner = inner[step]
    inner[last] = told["attempts"][1]["attemptId"] if value == "{attempts.1.attemptId}" else value

    assert problem in found(told)


async def test_long_values_are_cut_and_problems_end_somewhere() -> None:
    """A name of megabytes that every attempt is held against would make gigabytes of problems."""
    evals = Evals(agent=agent, suites=[SUITE], judge=Kind())
    told = (await evals.run(repetitions=60)).wire()
    told["judge"] = {"id": "x" * 100_000, "versionHash": "y", "location": "app"}

    problems = run_inconsistencies(RunRecord.of_wire(told))

    assert len(problems) == MOST_TOLD
    assert max(len(one.problem) for one in problems) < 1_000


@pytest.mark.parametrize(
    ("quotes", "words", "problem"),
    [(51, "It was sent.", "more than 50 quotes"), (50, "sent " * 2_000, "too large for the quotes")],
)
async def test_quotes_are_looked_up_within_bounds(
    quotes: int, words: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recheck, "MOST_LOOKED_THROUGH_CHARS", 1_000_000)

    async def talker(_turn: Any) -> str:
        return words

    told = (await Evals(agent=talker, suites=[SUITE], judge=Kind()).run()).wire()
    criterion = told["attempts"][0]["steps"][0]["criteria"][0]
    criterion["quotes"] = [{"text": "sent", "found": True}] * quotes
    assert problem in found(told)


@pytest.mark.parametrize("name", ["runId", "attempts.0.attemptId", "attempts.0.sessionId"])
def test_ids_fit_an_index(told: dict[str, Any], name: str) -> None:
    *path, last = name.split(".")
    place: Any = told
    for step in path:
        place = place[int(step) if step.isdigit() else step]
    place[last] = "x" * 257
    with pytest.raises(ValidationError):
        RunRecord.of_wire(told)


def test_nonsense_is_counted_and_not_listed() -> None:
    with pytest.raises(ValidationError) as caught:
        RunRecord.of_wire({"attempts": [1] * 20_000})
    [problem] = problems_of(caught.value, RunRecord)
    assert problem.message.startswith("does not fit in 20,0")
