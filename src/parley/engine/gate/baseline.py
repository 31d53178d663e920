"""Which earlier evaluation one is measured against. An evaluation is never measured against itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from parley.engine.gate.parameters import GateParameters
from parley.engine.gate.verdict import Verdict, decide
from parley.engine.stats.graded import Graded

LOOK_BACK = 20
"""Earlier evaluations that `latest-passing` looks at; those before them are as if they had not been."""
NEVER_A_BASELINE = "trace-eval"
"""The run source whose evaluations are of live traffic, with other cases each time (product contract)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What is known of an evaluation before its results are read.

    `completed_at` is None unless it completed. `rated_count` counts results with a judge's rating.
    """

    evaluation_id: str
    subject: str
    grading_hash: str
    split: str | None
    run_source: str | None
    is_regraded: bool
    completed_at: datetime | None
    rated_count: int


def unfit(candidate: Outline) -> str | None:
    """Why `candidate` cannot be anybody's baseline, as the end of a sentence; None if it can."""
    return _first_that_holds(
        {
            "comes from live traffic (trace-eval)": candidate.run_source == NEVER_A_BASELINE,
            "was regraded": candidate.is_regraded,
            "did not complete": candidate.completed_at is None,
            "has no rated result": candidate.rated_count == 0,
        }
    )


def unfit_for(candidate: Outline, now: Outline) -> str | None:
    """Why `candidate` cannot be the baseline of `now`, as the end of a sentence; None if it can."""
    mismatch = _first_that_holds(
        {
            "is this evaluation itself": candidate.evaluation_id == now.evaluation_id,
            "is of another dataset or suite": candidate.subject != now.subject,
            "was graded by other settings": candidate.grading_hash != now.grading_hash,
            "ran another split": candidate.split != now.split,
        }
    )
    late = None if _is_before(candidate, now) else "did not complete before this one"
    return mismatch or unfit(candidate) or late


@dataclass(frozen=True, slots=True)
class Earlier:
    """An evaluation that could be a baseline. `recorded` is the verdict its gate had by then, if any."""

    graded: Graded
    recorded: Verdict | None


def latest_passing(parameters: GateParameters, earlier: Sequence[Earlier]) -> Graded | None:
    """The newest of `earlier` (oldest first) that passes, so that a failing one never becomes the measure.

    Where no verdict was recorded, the checks asked for now decide, against the latest passing one before.
    """
    baseline = None
    for evaluation in earlier[-LOOK_BACK:]:
        verdict = evaluation.recorded or decide(parameters, evaluation.graded, baseline).verdict
        if verdict == "passed":
            baseline = evaluation.graded
    return baseline


def _first_that_holds(reasons: Mapping[str, bool]) -> str | None:
    return next((reason for reason, holds in reasons.items() if holds), None)


def _is_before(candidate: Outline, now: Outline) -> bool:
    """By time of completion; ids settle equal times."""
    if candidate.completed_at is None or now.completed_at is None:
        return False
    return (candidate.completed_at, candidate.evaluation_id) < (now.completed_at, now.evaluation_id)
