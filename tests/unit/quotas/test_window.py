"""The window policy: exactly the limit in any window-long span, and honest words about when to come back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.server.quotas.window import WINDOW, standing

BEGAN = datetime(2027, 1, 31, 12, 0, 0, tzinfo=UTC)
LIMITS = st.integers(min_value=1, max_value=6)
PAUSES = st.lists(
    st.timedeltas(min_value=timedelta(0), max_value=timedelta(seconds=90)), min_size=1, max_size=60
)


def at(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def starts_let_through(limit: int, pauses: list[timedelta]) -> list[datetime]:
    """Try to start after each pause; the times of the starts that were allowed."""
    spent: list[datetime] = []
    now = BEGAN
    for pause in pauses:
        now += pause
        if standing(spent, now, limit).has_room:
            spent.append(now)
    return spent


@given(LIMITS, PAUSES)
def test_no_window_long_span_holds_more_than_the_limit(limit: int, pauses: list[timedelta]) -> None:
    """C193"""
    spent = starts_let_through(limit, pauses)
    for first in spent:
        assert sum(first <= other <= first + WINDOW for other in spent) <= limit


@given(LIMITS, PAUSES)
def test_start_is_refused_only_while_the_limit_is_spent(limit: int, pauses: list[timedelta]) -> None:
    """C195"""
    spent: list[datetime] = []
    now = BEGAN
    for pause in pauses:
        now += pause
        found = standing(spent, now, limit)
        assert found.has_room == (sum(now - other <= WINDOW for other in spent) < limit)
        if found.has_room:
            spent.append(now)


@given(LIMITS, PAUSES)
def test_start_after_the_told_wait_is_allowed(limit: int, pauses: list[timedelta]) -> None:
    spent = starts_let_through(limit, pauses)
    found = standing(spent, spent[-1], limit)
    if not found.has_room:
        assert found.reset_s >= 1
        back = found.now + timedelta(seconds=found.reset_s)
        assert standing(spent, back, limit).has_room
        assert not standing(spent, back - timedelta(seconds=1), limit).has_room


@given(LIMITS, PAUSES, st.integers(min_value=1, max_value=6))
def test_newest_units_up_to_the_limit_are_enough_to_decide(
    limit: int, pauses: list[timedelta], later: int
) -> None:
    """What is read from the database is bounded by the limit, also after it was lowered."""
    spent = starts_let_through(later, pauses)
    whole, newest = standing(spent, spent[-1], limit), standing(spent[-limit:], spent[-1], limit)
    assert (whole.has_room, whole.remaining) == (newest.has_room, newest.remaining)
    if not whole.has_room:
        assert whole.reset_s == newest.reset_s


def test_unit_counts_to_the_last_tick_of_its_window() -> None:
    assert not standing([at(0)], at(60), 1).has_room
    assert standing([at(0)], at(60) + timedelta(microseconds=1), 1).has_room


def test_clock_that_was_set_back_frees_nothing() -> None:
    assert not standing([at(30)], at(0), 1).has_room


def test_account_without_a_limit_has_room_and_no_headers() -> None:
    found = standing([at(0)] * 1_000, at(1), None)
    assert found.has_room
    assert (found.used, found.remaining, found.headers()) == (1_000, None, {})


@pytest.mark.parametrize(
    ("spent", "remaining", "reset"),
    [([], 2, 0), ([0.0], 1, 51), ([0.0, 5.0], 0, 51), ([0.0, 5.0, 6.0], 0, 56)],
    ids=["fresh", "one", "full", "limit-was-lowered"],
)
def test_headers_tell_what_is_left_and_when_more_is(spent: list[float], remaining: int, reset: int) -> None:
    found = standing([at(seconds) for seconds in spent], at(10), 2)
    assert found.headers() == {
        "X-RateLimit-Limit": "2",
        "X-RateLimit-Remaining": str(remaining),
        "X-RateLimit-Reset": str(reset),
    }


def test_spending_counts_and_starts_the_wait() -> None:
    found = standing([], at(0), 1).spent()
    assert (found.used, found.remaining, found.reset_s) == (1, 0, 61)
