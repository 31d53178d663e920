"""How far apart two figures are: against published figures, and what must always hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.engine.stats.apart import Around, apart
from parley.engine.stats.intervals import Interval, wilson


def share(passed: int, total: int) -> Around:
    interval = wilson(passed, total)
    assert interval is not None
    return Around(passed / total, interval)


# Newcombe, Statistics in Medicine 17 (1998), table II, method 10.
@pytest.mark.parametrize(
    ("before", "now", "low", "high"),
    [
        ((48, 80), (56, 70), 0.0524, 0.3339),
        ((3, 10), (9, 10), 0.1705, 0.8090),
        ((2, 7), (6, 7), 0.0582, 0.8062),
        ((0, 10), (10, 10), 0.6075, 1.0000),
    ],
)
def test_shares_are_as_far_apart_as_published(
    before: tuple[int, int], now: tuple[int, int], low: float, high: float
) -> None:
    found = apart(share(*before), share(*now))
    assert found.value == pytest.approx(now[0] / now[1] - before[0] / before[1])
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), abs=6e-5)


def figures() -> st.SearchStrategy[Around]:
    ends = st.tuples(*[st.floats(0, 1)] * 3).map(sorted)
    return ends.map(lambda three: Around(three[1], Interval(three[0], three[2])))


@given(figures(), figures())
def test_difference_lies_in_its_interval_and_turns_round(one: Around, other: Around) -> None:
    there, back = apart(one, other), apart(other, one)
    assert there.interval.low <= there.value <= there.interval.high
    assert there.value == -back.value
    assert there.interval.low == pytest.approx(-back.interval.high)
