"""What tokens cost."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.engine.chat.pieces import Usage
from parley.server.llm.prices import FREE, Prices, cost_of

PRICES = Prices.of("0.75", "0.075", "3.75")


def usage(prompt: int, cached: int, completion: int) -> Usage:
    return Usage(model="m", prompt_tokens=prompt, cached_prompt_tokens=cached, completion_tokens=completion)


def test_cached_tokens_are_a_part_of_the_prompt() -> None:
    """C057."""
    assert cost_of(usage(1_000, 400, 100), PRICES) == Decimal("0.000855000")


def test_more_cached_than_prompt_tokens_cannot_make_a_cost_negative() -> None:
    assert cost_of(usage(100, 900, 0), PRICES) == Decimal("0.000007500")


@pytest.mark.parametrize(
    ("tokens", "cost"), [(1, "0.000000000"), (3, "0.000000002"), (5, "0.000000002"), (7, "0.000000004")]
)
def test_half_a_billionth_goes_to_the_even_side(tokens: int, cost: str) -> None:
    assert cost_of(usage(tokens, 0, 0), Prices.of("0.0005", "0", "0")) == Decimal(cost)


def test_multiplier_is_applied_before_rounding() -> None:
    assert cost_of(usage(1_000, 0, 0), PRICES, Decimal("1.25")) == Decimal("0.000937500")
    assert cost_of(usage(1, 0, 0), Prices.of("0.0004", "0", "0"), Decimal("1.5")) == Decimal("0.000000001")


def test_free_is_free() -> None:
    assert cost_of(usage(10**9, 5, 10**9), FREE) == 0


@pytest.mark.parametrize("price", ["-0.01", "NaN", "Infinity"])
def test_impossible_price_is_refused(price: str) -> None:
    with pytest.raises(ValueError, match="price"):
        Prices.of("0", "0", price)


COUNTS = st.integers(0, 10**8)


@given(COUNTS, COUNTS, COUNTS)
def test_cost_lies_between_all_cached_and_none_cached(prompt: int, cached: int, completion: int) -> None:
    cost = cost_of(usage(prompt, cached, completion), PRICES)
    assert cost.as_tuple().exponent == -9
    assert cost_of(usage(prompt, prompt, completion), PRICES) <= cost
    assert cost <= cost_of(usage(prompt, 0, completion), PRICES)
