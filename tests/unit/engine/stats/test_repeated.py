from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.engine.stats.repeated import MAX_K, AtK, all_of_k, any_of_k, is_flaky, pass_at_k, pass_hat_k


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.data())
def test_curves_are_the_shares_of_all_draws_of_k(verdicts: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(verdicts)))
    draws = list(combinations(verdicts, k))
    passed, total = sum(verdicts), len(verdicts)
    assert all_of_k(passed, total, k) == Fraction(sum(map(all, draws)), len(draws))
    assert any_of_k(passed, total, k) == Fraction(sum(map(any, draws)), len(draws))


@pytest.mark.parametrize(("passed", "total", "k"), [(-1, 2, 1), (3, 2, 1), (1, 2, 0), (1, 2, 3)])
def test_impossible_counts_are_refused(passed: int, total: int, k: int) -> None:
    for curve in (all_of_k, any_of_k):
        with pytest.raises(ValueError, match="must hold"):
            curve(passed, total, k)


def test_curve_is_the_mean_over_cases_up_to_what_all_of_them_can_tell() -> None:
    cases = [[True, True, False], [True, True], []]
    assert pass_hat_k(cases) == (AtK(1, Fraction(5, 6)), AtK(2, Fraction(2, 3)))
    assert pass_at_k(cases) == (AtK(1, Fraction(5, 6)), AtK(2, Fraction(1)))


def test_curve_of_nothing_is_empty_and_a_long_one_ends() -> None:
    assert pass_hat_k([[], []]) == pass_at_k([]) == ()
    assert pass_at_k([[True] * 30])[-1].k == MAX_K


@pytest.mark.parametrize(
    ("verdicts", "flaky"), [([], False), ([True], False), ([False, False], False), ([True, False], True)]
)
def test_case_is_flaky_if_its_repetitions_disagree(verdicts: list[bool], flaky: bool) -> None:
    assert is_flaky(verdicts) is flaky
