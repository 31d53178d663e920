from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.engine.stats.results import CaseResult, counts_of, percentile, scores_by_case, statistics_of


def rated(case_id: str, rating: str, passed: bool = True, **more: Any) -> CaseResult:
    return CaseResult(case_id=case_id, status="rated", rating=Decimal(rating), passed=passed, **more)


def test_means_are_exact() -> None:
    results = [rated("a", "0.1"), rated("b", "0.2"), rated("c", "0")]
    assert statistics_of(results, 3).average == Fraction(1, 10)


def test_failed_result_counts_as_nothing_earned_whatever_it_says() -> None:
    failed = CaseResult(case_id="b", status="failed", rating=Decimal(9), passed=True)
    found = statistics_of([rated("a", "10"), failed], 2)
    assert (found.average, found.pass_rate, found.counts.failed) == (Fraction(5), Fraction(1, 2), 1)


def test_skipped_result_lowers_the_coverage_and_nothing_else() -> None:
    found = statistics_of([rated("a", "8"), CaseResult(case_id="b", status="skipped")], 2)
    assert (found.average, found.pass_rate, found.counts.coverage) == (
        Fraction(8),
        Fraction(1),
        Fraction(1, 2),
    )


@pytest.mark.parametrize("rating", [None, "NaN", "Infinity", "-Infinity", "sNaN", "-0.1", "10.000000001"])
def test_rating_that_is_none_counts_as_skipped(rating: str | None) -> None:
    """C203: a missing score is no score."""
    value = None if rating is None else Decimal(rating)
    result = CaseResult(case_id="a", status="rated", rating=value, passed=True)
    counts = counts_of([result], 1)
    assert (result.score, result.has_passed) == (None, False)
    assert (counts.rated, counts.skipped, counts.coverage) == (0, 1, Fraction(0))


@pytest.mark.parametrize("rating", ["0", "10", "-0"])
def test_ends_of_the_scale_are_ratings(rating: str) -> None:
    assert rated("a", rating).score == int(rating)


def test_rated_result_without_a_verdict_did_not_pass() -> None:
    result = CaseResult(case_id="a", status="rated", rating=Decimal(9), passed=None)
    assert statistics_of([result], 1).pass_rate == 0


def test_every_result_is_counted_once() -> None:
    results = [
        rated("a", "1"),
        CaseResult(case_id="b", status="failed"),
        CaseResult(case_id="c", status="skipped"),
        CaseResult(case_id="d", status="pending"),
        CaseResult(case_id="e", status="scoring"),
    ]
    counts = counts_of(results, 6)
    assert (counts.rated, counts.failed, counts.skipped, counts.open) == (1, 1, 1, 2)
    assert (counts.kept, counts.coverage) == (3, Fraction(1, 3))


def test_nothing_expected_is_nothing_covered() -> None:
    assert counts_of([], 0).coverage == 0


def test_evaluation_without_results_has_no_figures() -> None:
    found = statistics_of([], 3)
    assert (found.average, found.pass_rate, found.pass_interval) == (None, None, None)
    assert (found.p50_ms, found.p95_ms, found.cost_usd) == (None, None, None)
    assert (found.pass_hat_k, found.flaky_cases) == ((), ())


def test_repetitions_stay_together() -> None:
    results = [rated("a", "2"), rated("b", "9"), rated("a", "4", passed=False, repetition=2)]
    first, second = scores_by_case(results)
    assert (first.case_id, first.mean, first.share_passed, second.mean) == (
        "a",
        Fraction(3),
        Fraction(1, 2),
        Fraction(9),
    )
    found = statistics_of(results, 4)
    assert (found.flaky_cases, [at.k for at in found.pass_hat_k]) == (("a",), [1])


def test_costs_and_durations_are_of_those_that_know_them() -> None:
    results = [
        rated("a", "1", cost_usd=Decimal("0.1"), duration_ms=100),
        rated("b", "1"),
        rated("c", "1", duration_ms=300),
    ]
    found = statistics_of(results, 3)
    assert (found.cost_usd, found.p50_ms, found.p95_ms) == (Decimal("0.1"), 100, 300)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=60), st.integers(1, 100))
def test_percentile_agrees_with_numpy(values: list[int], percent: int) -> None:
    assert percentile(values, percent) == numpy.percentile(values, percent, method="inverted_cdf")
