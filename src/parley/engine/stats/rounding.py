"""Exact fractions, rounded for people. Nothing is ever decided on a rounded figure."""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction

_EXACT = Context(prec=60)
_MOST_PLACES = 9
"""Places of a stored rating: two means that differ in nothing told differ by less than a billionth."""


def rounded(value: Fraction, places: int = 2) -> Decimal:
    """`value` with `places` digits behind the point, halves away from zero."""
    return _divided(value).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, _EXACT)


def rounded_share(value: Fraction, places: int = 4) -> Decimal:
    """A share with `places` digits, rounded down: only all of it is ever told as 1."""
    return _divided(value).quantize(Decimal(1).scaleb(-places), ROUND_DOWN, _EXACT)


def told_beside(value: Fraction, other: Fraction) -> str:
    """`value` in as few digits as set it apart from `other`, at least what two places leave of it."""
    places = 2
    while places < _MOST_PLACES and value != other and rounded(value, places) == rounded(other, places):
        places += 1
    return told(rounded(value, places))


def told(value: Decimal) -> str:
    """A figure without zeros that say nothing: 7, 0.5, 8.13."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _divided(value: Fraction) -> Decimal:
    return _EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))
