from __future__ import annotations

from fractions import Fraction

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from parley.engine.stats.intervals import Interval, bootstrap_mean, wilson


@given(st.integers(1, 500).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_wilson_agrees_with_scipy(counts: tuple[int, int]) -> None:
    passed, total = counts
    theirs = stats.binomtest(passed, total).proportion_ci(0.95, "wilson")
    ours = wilson(passed, total)
    assert ours is not None
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert 0 <= ours.low <= passed / total <= ours.high <= 1


def test_share_of_nothing_has_no_interval() -> None:
    assert wilson(0, 0) is None


@pytest.mark.parametrize(("passed", "total"), [(-1, 3), (4, 3)])
def test_share_outside_of_0_to_1_is_refused(passed: int, total: int) -> None:
    with pytest.raises(ValueError, match="between 0 and total"):
        wilson(passed, total)


def test_bootstrap_is_the_same_each_time_and_another_with_another_seed() -> None:
    values = [Fraction(n * n % 17) for n in range(30)]
    assert bootstrap_mean(values, "a") == bootstrap_mean(values, "a")
    assert bootstrap_mean(values, "a") != bootstrap_mean(values, "b")
    # Written down, so that a change of the draws, which would change old comparisons, is noticed.
    assert bootstrap_mean(values, "a") == Interval(6.066666666666666, 9.9)


def test_bootstrap_agrees_with_scipy_within_its_own_noise() -> None:
    values = numpy.random.default_rng(7).normal(1.0, 2.0, 60)
    theirs = stats.bootstrap(
        (values,), numpy.mean, n_resamples=20_000, method="percentile", rng=numpy.random.default_rng(8)
    ).confidence_interval
    ours = bootstrap_mean([Fraction(value) for value in values], "seed")
    assert ours is not None
    width = theirs.high - theirs.low
    assert ours.low == pytest.approx(theirs.low, abs=0.06 * width)
    assert ours.high == pytest.approx(theirs.high, abs=0.06 * width)


@settings(max_examples=25)
@given(st.lists(st.integers(-10, 10), min_size=2, max_size=30))
def test_bootstrap_stays_within_the_values(values: list[int]) -> None:
    found = bootstrap_mean([Fraction(value) for value in values], "seed")
    assert found is not None
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9


@pytest.mark.parametrize("values", [[], [Fraction(1)]])
def test_bootstrap_of_fewer_than_two_is_none(values: list[Fraction]) -> None:
    assert bootstrap_mean(values, "seed") is None


def test_bootstrap_of_very_many_takes_fewer_resamples_instead_of_longer() -> None:
    found = bootstrap_mean([Fraction(n % 11) for n in range(9_000)], "seed")
    assert found is not None
    assert found.low < 5 < found.high
