"""Money: US dollars as decimals of nine places."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal

SMALLEST_USD = Decimal("0.000000001")
"""The smallest amount kept: one billionth of a dollar (product contract: nine places)."""
ZERO_USD = Decimal("0.000000000")


def usd(amount: Decimal | int | str) -> Decimal:
    """`amount` in dollars, rounded half-even to nine places."""
    return Decimal(amount).quantize(SMALLEST_USD, rounding=ROUND_HALF_EVEN)
