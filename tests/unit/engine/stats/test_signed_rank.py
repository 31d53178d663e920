from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from parley.engine.stats.signed_rank import MAX_COUNTED, SignedRank, signed_rank


def fractions(values: list[int]) -> list[Fraction]:
    return [Fraction(value) for value in values]


@given(
    st.sets(st.integers(1, 400), min_size=1, max_size=50).flatmap(
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


def chances(sizes: list[int]) -> numpy.ndarray:
    """The chance of each sum of positive doubled ranks if ups and downs are alike, one rank after another."""
    ranks = numpy.rint(2 * stats.rankdata(sizes)).astype(int)
    found = numpy.zeros(ranks.sum() + 1)
    found[0] = 1.0
    for rank in ranks:
        found = found / 2 + numpy.concatenate([numpy.zeros(rank), found[:-rank]]) / 2
    return found


@settings(max_examples=30)
@given(st.lists(st.integers(-9, 9).filter(bool), min_size=51, max_size=120))
def test_beyond_fifty_changed_pairs_every_assignment_still_counts(values: list[int]) -> None:
    expected = chances([abs(value) for value in values])
    ranks = numpy.rint(2 * stats.rankdata([abs(value) for value in values])).astype(int)
    rose = int(ranks[numpy.array(values) > 0].sum())
    ours = signed_rank(fractions(values))
    assert ours.p_fell == pytest.approx(expected[: rose + 1].sum(), rel=1e-9)
    assert ours.p_rose == pytest.approx(expected[rose:].sum(), rel=1e-9)


TIES = {
    "none": lambda count: list(range(1, count + 1)),
    "all": lambda count: [1] * count,
    "all but one": lambda count: [1] * (count - 1) + [5],
    "whole ratings": lambda count: [1 + at % 3 for at in range(count)],
}


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("count", [6, 20, 50, 51, 100, MAX_COUNTED + 1])
def test_p_is_never_under_the_true_chance(ties: str, count: int) -> None:
    """Counted, not simulated: so equal versions raise an alarm at most as often as the level says."""
    sizes = TIES[ties](count)
    ranks = numpy.rint(2 * stats.rankdata(sizes)).astype(int)
    below = numpy.cumsum(chances(sizes))
    chance = numpy.random.default_rng(1)
    for share_up in numpy.linspace(0.2, 0.5, 40):
        up = chance.random(count) < share_up
        p = signed_rank(
            [Fraction(size if rose else -size) for size, rose in zip(sizes, up, strict=True)]
        ).p_fell
        # The normal curve's own error, beyond MAX_COUNTED, is far under what a level is asked in.
        assert p >= below[ranks[up].sum()] * (1 - 1e-4)


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
