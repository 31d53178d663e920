"""After how long an attempt is made again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.engine.chat.faults import InferenceFault
from parley.engine.chat.retry import RETRY_AFTER_CAP_S, delay_s


def fault(*, retry_after_s: float | None = None) -> InferenceFault:
    return InferenceFault("http_error", "x", retryable=True, retry_after_s=retry_after_s)


@pytest.mark.parametrize(
    ("attempt", "draw", "expected_s"),
    [
        (1, 0.0, 0.5),
        (1, 1.0, 1.0),
        (2, 0.0, 1.0),
        (2, 0.5, 1.5),
        (3, 0.0, 2.0),
        (5, 1.0, 16.0),
        (6, 0.0, 10.0),
        (6, 1.0, 20.0),
        (5_000, 1.0, 20.0),
    ],
)
def test_own_wait_doubles_up_to_its_cap_and_is_drawn_from_the_upper_half(
    attempt: int, draw: float, expected_s: float
) -> None:
    assert delay_s(attempt, fault(), draw) == expected_s


@pytest.mark.parametrize(
    ("wish_s", "draw", "expected_s"),
    [
        (7.0, 0.0, 7.0),
        (7.0, 0.5, 7.5),
        (0.0, 0.0, 0.5),
        (59.5, 0.25, 59.75),
        (59.5, 1.0, 60.0),
        (60.0, 0.5, 60.0),
        (86_400.0, 0.0, 60.0),
    ],
)
def test_provider_wish_is_a_lower_bound_up_to_a_minute(wish_s: float, draw: float, expected_s: float) -> None:
    assert delay_s(1, fault(retry_after_s=wish_s), draw) == expected_s


@given(
    attempt=st.integers(1, 10_000),
    wish_s=st.none() | st.floats(0, 1e12),
    draw=st.floats(0, 1, exclude_max=True),
)
def test_wait_is_bounded_and_never_shorter_than_wished(
    attempt: int, wish_s: float | None, draw: float
) -> None:
    waited_s = delay_s(attempt, fault(retry_after_s=wish_s), draw)
    assert 0.5 <= waited_s <= RETRY_AFTER_CAP_S
    assert waited_s >= min(wish_s or 0, RETRY_AFTER_CAP_S)
