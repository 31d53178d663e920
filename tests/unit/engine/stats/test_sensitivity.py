from __future__ import annotations

from fractions import Fraction

import numpy
import pytest
from scipy import stats

from parley.engine.stats.sensitivity import MIN_CASES, from_pairs, from_ratings


def spread_out(count: int) -> list[Fraction]:
    return [Fraction(n % 5) for n in range(count)]


def test_smallest_fall_is_the_one_that_a_t_test_of_known_spread_finds_in_four_of_five() -> None:
    values = spread_out(50)
    deviation = float(numpy.std([float(value) for value in values], ddof=1))
    wanted = (stats.norm.ppf(0.95) + stats.norm.ppf(0.8)) * deviation / 50**0.5
    found = from_pairs(values)
    assert found.value == pytest.approx(wanted, rel=1e-9)
    assert f"by {wanted:.2f} would be noticed" in found.words


def test_one_evaluation_alone_shows_less_than_pairs_would() -> None:
    alone, paired = from_ratings(spread_out(50)).value, from_pairs(spread_out(50)).value
    assert alone is not None
    assert paired is not None
    assert alone == pytest.approx(paired * 2**0.5)


def test_too_few_cases_say_so() -> None:
    assert from_pairs(spread_out(MIN_CASES)).value is not None
    found = from_pairs(spread_out(MIN_CASES - 1))
    assert (found.value, found.words) == (None, "5 cases are too few to tell a real difference from chance.")
    assert from_ratings([Fraction(1)]).words.startswith("1 case is too few")


def test_cases_without_any_spread_promise_nothing() -> None:
    found = from_pairs([Fraction(1)] * 50)
    assert found.value is None
    assert "nothing tells" in found.words


def test_spread_too_wide_for_the_scale_promises_nothing() -> None:
    found = from_ratings([Fraction(10 * (n % 2)) for n in range(6)])
    assert found.value is None or found.value < 10
    found = from_pairs([Fraction(20 * (n % 2) - 10) for n in range(6)])
    assert found.value is None
    assert "could not show" in found.words
