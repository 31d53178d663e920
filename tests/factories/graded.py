"""Evaluations for tests of comparison and gate, written as the ratings of their cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

from parley.engine.stats.graded import FrozenCase, Graded
from parley.engine.stats.results import CaseResult

Rating: TypeAlias = str | int | float | None
"""A rating; None for a skipped result, "failed" for a failed one, "open" for one still being scored."""

PASS_RATING = Decimal(7)


def a_result(case_id: str, rating: Rating, repetition: int = 1) -> CaseResult:
    """A result with the verdict that the usual pass mark of 7 gives it."""
    if rating is None:
        return CaseResult(case_id=case_id, repetition=repetition, status="skipped")
    if rating == "failed":
        return CaseResult(
            case_id=case_id, repetition=repetition, status="failed", rating=Decimal(0), passed=False
        )
    if rating == "open":
        return CaseResult(case_id=case_id, repetition=repetition, status="scoring")
    value = Decimal(str(rating))
    passed = value.is_finite() and value >= PASS_RATING
    return CaseResult(case_id=case_id, repetition=repetition, status="rated", rating=value, passed=passed)


def a_case(case_id: str, **more: Any) -> FrozenCase:
    """A frozen case whose content is told by its id."""
    return FrozenCase(**{"case_id": case_id, "index": 0, "name": case_id, "content_hash": case_id, **more})


def graded(
    ratings: Sequence[Rating | Sequence[Rating]] | Mapping[str, Rating | Sequence[Rating]],
    evaluation_id: str = "now",
    **more: Any,
) -> Graded:
    """An evaluation with one case per item of `ratings`; an item that is a list holds the repetitions."""
    named = ratings if isinstance(ratings, Mapping) else {f"c{at}": each for at, each in enumerate(ratings)}
    repeated = {
        case_id: [each] if each is None or isinstance(each, str | int | float) else list(each)
        for case_id, each in named.items()
    }
    results = [
        a_result(case_id, rating, at)
        for case_id, each in repeated.items()
        for at, rating in enumerate(each, 1)
    ]
    fields: dict[str, Any] = {
        "evaluation_id": evaluation_id,
        "subject": "dataset",
        "grading_hash": "grader",
        "split": None,
        "repetitions": max(map(len, repeated.values()), default=1),
        "cases": tuple(map(a_case, repeated)),
        "results": tuple(results),
    }
    return Graded(**{**fields, **more})
