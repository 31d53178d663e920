"""Statistics and comparisons as they are told: exact inside, rounded here and nowhere before."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, TypeAlias

from pydantic import Field, PlainSerializer

from parley.engine.comparison import CaseClass, ComparedCase, Comparison, What
from parley.engine.stats.intervals import Interval
from parley.engine.stats.repeated import AtK
from parley.engine.stats.results import Statistics
from parley.engine.stats.rounding import rounded, rounded_share
from parley.engine.stats.sensitivity import SmallestDifference
from parley.server.kit.schemas import Answer, Usd

Figure: TypeAlias = Annotated[Decimal, PlainSerializer(float, return_type=float)]
"""A rounded figure: a JSON number."""


class ShareInterval(Answer):
    """A share with its interval."""

    value: Figure
    low: float
    high: float
    level: float = Field(description="Confidence of the interval.")


class Bounds(Answer):
    """An interval."""

    low: float
    high: float
    level: float


class Curve(Answer):
    """One value of pass^k or pass@k."""

    k: int
    value: Figure


class Durations(Answer):
    """How long the agent took, milliseconds; null where nobody told."""

    p50: int | None
    p95: int | None


class Smallest(Answer):
    """The smallest fall of the mean that would be noticed in four of five times."""

    value: float | None = Field(description="0..10; null where it cannot be told.")
    words: str


class StatisticsReply(Answer):
    """What an evaluation's results say together."""

    expected_count: int = Field(description="Frozen cases times repetitions.")
    result_count: int = Field(description="Results that have ended.")
    rated_count: int
    failed_count: int
    skipped_count: int
    pending_count: int
    coverage: Figure = Field(description="Rated and failed results as a share of all that are expected.")
    average_rating: Figure | None
    pass_rate: ShareInterval | None
    pass_hat_k: list[Curve]
    pass_at_k: list[Curve]
    flaky_cases: list[str]
    duration_ms: Durations
    cost: Usd | None
    smallest_difference: Smallest


class DifferenceReply(Answer):
    """Something in which two evaluations differ beside their results."""

    what: What
    detail: str


class ComparedCaseReply(Answer):
    """One case on both sides."""

    case_id: str
    index: int
    name: str
    kind: CaseClass = Field(serialization_alias="class")
    rating_was: Figure | None
    rating_is: Figure | None
    passed_was: Figure | None = Field(description="Share of the repetitions that passed.")
    passed_is: Figure | None
    delta: Figure | None
    detail: str | None


class VerdictsReply(Answer):
    """Cases whose verdict changed, with McNemar's exact test."""

    fell: int
    rose: int
    p_value: float


class ComparisonReply(Answer):
    """Two evaluations side by side."""

    evaluation_id: str
    baseline_id: str
    comparable: bool
    differences: list[DifferenceReply]
    paired_count: int
    delta: Figure | None
    interval: Bounds | None
    p_value: float | None
    changed_count: int
    counts: dict[str, int]
    verdicts: VerdictsReply
    smallest_difference: Smallest
    words: str
    cases: list[ComparedCaseReply]


_CLASSES: tuple[CaseClass, ...] = (
    "improved", "regressed", "unchanged", "new", "missing", "changed", "inconclusive"
)  # fmt: skip


def told(statistics: Statistics) -> StatisticsReply:
    """The statistics, rounded for people."""
    counts = statistics.counts
    return StatisticsReply(
        expected_count=counts.expected,
        result_count=counts.kept,
        rated_count=counts.rated,
        failed_count=counts.failed,
        skipped_count=counts.skipped,
        pending_count=counts.open,
        coverage=rounded_share(counts.coverage),
        average_rating=_figure(statistics.average),
        pass_rate=_share(statistics.pass_rate, statistics.pass_interval),
        pass_hat_k=_curve(statistics.pass_hat_k),
        pass_at_k=_curve(statistics.pass_at_k),
        flaky_cases=list(statistics.flaky_cases),
        duration_ms=Durations(p50=statistics.p50_ms, p95=statistics.p95_ms),
        cost=statistics.cost_usd,
        smallest_difference=_smallest(statistics.smallest_difference),
    )


def told_comparison(comparison: Comparison, evaluation_id: str, baseline_id: str) -> ComparisonReply:
    """The comparison, rounded for people."""
    pairing, test = comparison.pairing, comparison.test
    interval = comparison.interval
    return ComparisonReply(
        evaluation_id=evaluation_id,
        baseline_id=baseline_id,
        comparable=not pairing.refused,
        differences=[DifferenceReply(what=each.what, detail=each.detail) for each in pairing.differences],
        paired_count=len(pairing.deltas),
        delta=_figure(comparison.delta),
        interval=_bounds(interval) if interval else None,
        p_value=round(test.p_either, 6) if test else None,
        changed_count=test.changed if test else 0,
        counts={kind: pairing.count(kind) for kind in _CLASSES},
        verdicts=VerdictsReply(
            fell=comparison.fell, rose=comparison.rose, p_value=round(comparison.verdicts_p, 6)
        ),
        smallest_difference=_smallest(comparison.smallest_difference),
        words=_words(comparison),
        cases=[_case(case) for case in pairing.cases],
    )


def _words(comparison: Comparison) -> str:
    pairing = comparison.pairing
    if pairing.refused:
        return "These cannot be compared. " + " ".join(each.detail for each in pairing.differences)
    moved = ""
    if comparison.delta is not None:
        way = "did not move" if not comparison.delta else "rose" if comparison.delta > 0 else "fell"
        moved = f"The mean {way}" + (f" by {abs(rounded(comparison.delta))}" if comparison.delta else "")
        moved += f" over {len(pairing.deltas)} paired cases: "
    classes = f"{pairing.count('improved')} improved, {pairing.count('regressed')} regressed. "
    return moved + classes + comparison.smallest_difference.words


def _case(case: ComparedCase) -> ComparedCaseReply:
    return ComparedCaseReply(
        case_id=case.case_id,
        index=case.index,
        name=case.name,
        kind=case.kind,
        rating_was=_figure(case.rating_was),
        rating_is=_figure(case.rating_is),
        passed_was=_figure(case.passed_was, 4),
        passed_is=_figure(case.passed_is, 4),
        delta=_figure(case.delta),
        detail=case.detail,
    )


def _figure(value: Fraction | None, places: int = 2) -> Decimal | None:
    return None if value is None else rounded(value, places)


def _share(value: Fraction | None, interval: Interval | None) -> ShareInterval | None:
    if value is None or interval is None:
        return None
    return ShareInterval(value=rounded_share(value), **_bounds(interval).model_dump())


def _bounds(interval: Interval) -> Bounds:
    return Bounds(low=round(interval.low, 4), high=round(interval.high, 4), level=interval.level)


def _curve(points: tuple[AtK, ...]) -> list[Curve]:
    return [Curve(k=point.k, value=rounded_share(point.value)) for point in points]


def _smallest(found: SmallestDifference) -> Smallest:
    return Smallest(value=None if found.value is None else round(found.value, 2), words=found.words)
