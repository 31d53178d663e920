from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from parley.engine.stats.signed_rank import MAX_EXACT, SignedRank, signed_rank


def fractions(values: list[int]) -> list[Fraction]:
    return [Fraction(value) for value in values]


@given(
    st.sets(st.integers(1, 400), min_size=1, max_size=MAX_EXACT).flatmap(
        lambda sizes: st.tuples(*[st.sampled_from([-size, size]) for size in sorted(sizes)])
    )
)
def test_exact_test_agrees_with_scipy_where_nothing_ties(values: tuple[int, ...]) -> None:
    ours = signed_rank(fractions(list(values)))
    for alternative, p in (("less", ours.p_fell), ("greater", ours.p_rose), ("two-sided", ours.p_either)):
        theirs = stats.wilcoxon(numpy.array(values), alternative=alternative, method="exact").pvalue
        assert p == pytest.approx(theirs, rel=1e-9)


@settings(max_examples=60)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=10))
def test_exact_test_counts_every_assignment_of_signs_with_ties_and_zeros(values: list[int]) -> None:
    changed = [value for value in values if value]
    ranks = stats.rankdata(numpy.abs(changed)) if changed else numpy.array([])
    rose = sum(rank for rank, value in zip(ranks, changed, strict=True) if value > 0)
    sums = [
        sum(rank for rank, up in zip(ranks, ups, strict=True) if up)
        for ups in product([0, 1], repeat=len(ranks))
    ]
    ours = signed_rank(fractions(values))
    assert ours.changed == len(changed)
    assert ours.p_fell == sum(found <= rose for found in sums) / len(sums)
    assert ours.p_rose == sum(found >= rose for found in sums) / len(sums)


@settings(max_examples=40)
@given(st.lists(st.integers(-9, 9).filter(bool), min_size=MAX_EXACT + 1, max_size=200))
def test_normal_curve_agrees_with_scipy_beyond(values: list[int]) -> None:
    ours = signed_rank(fractions(values))
    for alternative, p in (("less", ours.p_fell), ("greater", ours.p_rose)):
        theirs = stats.wilcoxon(
            numpy.array(values), alternative=alternative, method="approx", correction=False
        ).pvalue
        # Half a rank of caution moves the deviate by less than 0.01 here.
        assert p == pytest.approx(theirs, abs=0.004)
        assert p >= theirs - 1e-12


def test_both_ways_meet_at_the_border() -> None:
    values = [n if n % 3 else -n for n in range(1, MAX_EXACT + 1)]
    exact = signed_rank(fractions(values))
    beyond = signed_rank(fractions([*values, -(MAX_EXACT + 1)]))
    assert exact.p_rose == pytest.approx(beyond.p_rose, abs=0.03)


def test_six_falls_are_one_assignment_of_sixty_four() -> None:
    assert signed_rank(fractions([-1, -2, -3, -4, -5, -6])).p_fell == 1 / 64


def test_ties_are_seen_in_exact_fractions() -> None:
    third = Fraction(1, 3)
    assert signed_rank([-third, Fraction(4, 3) - 1, third]).p_fell == 7 / 8


def test_nothing_changed_says_nothing() -> None:
    assert signed_rank(fractions([0, 0])) == SignedRank(0, 1.0, 1.0, 1.0)


def test_turning_every_difference_round_turns_the_test_round() -> None:
    values = fractions([3, -1, 4, 1, -5, 9, 2, -6])
    there, back = signed_rank(values), signed_rank([-value for value in values])
    assert (there.p_fell, there.p_rose, there.p_either) == (back.p_rose, back.p_fell, back.p_either)
