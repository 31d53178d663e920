"""Case results as statistics see them, and what they say together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal, TypeAlias

from parley.engine.stats import repeated
from parley.engine.stats.intervals import Interval, wilson
from parley.engine.stats.sensitivity import SmallestDifference, from_ratings

Status: TypeAlias = Literal["pending", "scoring", "rated", "failed", "skipped"]

HIGHEST_RATING = 10
"""Ratings lie in 0..10 (product contract)."""
_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """One case, one repetition. `rating` 0..10, `cost_usd` of grading, `duration_ms` of the agent.

    Anything that cannot be a rating (null, NaN, out of bounds) counts as skipped, whatever the status says:
    a missing rating must lower the coverage, never the trust. A rated one without a verdict did not pass.
    """

    case_id: str
    repetition: int = 1
    status: Status
    rating: Decimal | None = None
    passed: bool | None = None
    duration_ms: int | None = None
    cost_usd: Decimal | None = None

    @property
    def score(self) -> Fraction | None:
        """The rating as an exact fraction, 0 for a failed one; None where it does not count."""
        if self.status == "failed":
            return _ZERO
        if self.status != "rated" or self.rating is None or not self.rating.is_finite():
            return None
        return Fraction(self.rating) if 0 <= self.rating <= HIGHEST_RATING else None

    @property
    def is_rated(self) -> bool:
        """Whether a judge's rating counts; a failed result has none."""
        return self.status == "rated" and self.score is not None

    @property
    def is_open(self) -> bool:
        """Whether it has still to be scored."""
        return self.status in ("pending", "scoring")

    @property
    def has_passed(self) -> bool:
        """Whether it counts and passed."""
        return self.is_rated and self.passed is True


@dataclass(frozen=True, slots=True)
class CaseScores:
    """The results of one case that count: their scores and verdicts, in the order of repetitions."""

    case_id: str
    scores: tuple[Fraction, ...]
    verdicts: tuple[bool, ...]

    @property
    def mean(self) -> Fraction | None:
        """The mean score, None without any."""
        return mean_of(self.scores)

    @property
    def share_passed(self) -> Fraction | None:
        """The share of repetitions that passed, None without any."""
        return Fraction(sum(self.verdicts), len(self.verdicts)) if self.verdicts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many results there are. `expected` is frozen cases times repetitions."""

    expected: int
    rated: int
    failed: int
    skipped: int
    open: int

    @property
    def kept(self) -> int:
        """Results that have ended."""
        return self.rated + self.failed + self.skipped

    @property
    def coverage(self) -> Fraction:
        """The share of expected results that were rated or failed; 0 if nothing was expected."""
        return Fraction(self.rated + self.failed, self.expected) if self.expected else _ZERO


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """What an evaluation's results say together. Fields as in docs/reference/evaluations.md."""

    counts: Counts
    average: Fraction | None
    pass_rate: Fraction | None
    pass_interval: Interval | None
    pass_hat_k: tuple[repeated.AtK, ...]
    pass_at_k: tuple[repeated.AtK, ...]
    flaky_cases: tuple[str, ...]
    p50_ms: int | None
    p95_ms: int | None
    cost_usd: Decimal | None
    smallest_difference: SmallestDifference


def statistics_of(results: Sequence[CaseResult], expected: int) -> Statistics:
    """The statistics of `results`, of which `expected` should be there in the end."""
    cases = scores_by_case(results)
    scores = [score for case in cases for score in case.scores]
    verdicts = [case.verdicts for case in cases]
    passed, total = sum(map(sum, verdicts)), sum(map(len, verdicts))
    durations = [result.duration_ms for result in results if result.duration_ms is not None]
    costs = [result.cost_usd for result in results if result.cost_usd is not None]
    return Statistics(
        counts=counts_of(results, expected),
        average=mean_of(scores),
        pass_rate=Fraction(passed, total) if total else None,
        pass_interval=wilson(passed, total),
        pass_hat_k=repeated.pass_hat_k(verdicts),
        pass_at_k=repeated.pass_at_k(verdicts),
        flaky_cases=tuple(case.case_id for case in cases if repeated.is_flaky(case.verdicts)),
        p50_ms=percentile(durations, 50),
        p95_ms=percentile(durations, 95),
        cost_usd=sum(costs, Decimal(0)) if costs else None,
        smallest_difference=from_ratings([case.mean for case in cases if case.mean is not None]),
    )


def counts_of(results: Iterable[CaseResult], expected: int) -> Counts:
    """How many of `results` are of each kind."""
    rated = failed = skipped = waiting = 0
    for result in results:
        rated += result.is_rated
        failed += result.status == "failed"
        waiting += result.is_open
        skipped += not (result.is_rated or result.status == "failed" or result.is_open)
    return Counts(expected=expected, rated=rated, failed=failed, skipped=skipped, open=waiting)


def scores_by_case(results: Iterable[CaseResult]) -> list[CaseScores]:
    """The results that count, by case, in the order in which the cases come first; without the others."""
    found: dict[str, tuple[list[Fraction], list[bool]]] = {}
    for result in results:
        score = result.score
        if score is not None:
            scores, verdicts = found.setdefault(result.case_id, ([], []))
            scores.append(score)
            verdicts.append(result.has_passed)
    return [
        CaseScores(case_id, tuple(scores), tuple(verdicts)) for case_id, (scores, verdicts) in found.items()
    ]


def mean_of(values: Sequence[Fraction]) -> Fraction | None:
    """The exact mean, None without any value."""
    if not values:
        return None
    # One common denominator: adding fractions one by one costs ten times as much.
    whole = math.lcm(*{value.denominator for value in values})
    total = sum(value.numerator * (whole // value.denominator) for value in values)
    return Fraction(total, whole * len(values))


def percentile(values: Sequence[int], percent: int) -> int | None:
    """The smallest value that `percent` (1..100) of all are at or under; None without any."""
    if not values:
        return None
    return sorted(values)[-(-len(values) * percent // 100) - 1]
