"""When a delivery is tried again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from parley.server.notifications.backoff import FIRST_WAIT_S, LONGEST_WAIT_S, MOST_ATTEMPTS, wait_s


def test_waits_double_and_end_within_about_an_hour() -> None:
    waits = [wait_s(attempts) for attempts in range(1, MOST_ATTEMPTS)]
    assert waits == [30, 60, 120, 240, 480, 960, 1_920]
    assert wait_s(MOST_ATTEMPTS) is None
    assert 3_000 < sum(wait or 0 for wait in waits) < 4_500


def test_other_side_may_ask_for_more_but_not_for_less_or_for_ever() -> None:
    assert wait_s(1, 100) == 100
    assert wait_s(1, 1) == FIRST_WAIT_S
    assert wait_s(1, 10**9) == LONGEST_WAIT_S
    assert wait_s(MOST_ATTEMPTS, 5) is None


@given(st.integers(1, 100), st.none() | st.floats(0, 1e12))
def test_wait_is_bounded(attempts: int, asked_s: float | None) -> None:
    wait = wait_s(attempts, asked_s)
    assert wait is None or FIRST_WAIT_S <= wait <= LONGEST_WAIT_S
