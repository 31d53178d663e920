"""Decimals that mean the same in a customer's JSON, in our arithmetic and in our answers."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BeforeValidator, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError


def _read(value: object) -> object:
    """A JSON number as the decimal that was written; anything else is left for the refusal."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise PydanticCustomError("number_type", "must be a number")
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite():
        raise PydanticCustomError("number_finite", "must be a finite number")
    return abs(number) if number.is_zero() else number


def _survives_json(number: Decimal) -> Decimal:
    """A number that double-reading clients would see changed is refused rather than rounded."""
    if Decimal(repr(float(number))) != number:
        raise PydanticCustomError(
            "number_digits", "has more digits than JSON readers keep; use at most 15 decimal places"
        )
    return number


def _between(least: str, most: str) -> Callable[[Decimal], Decimal]:
    def check(number: Decimal) -> Decimal:
        if number < Decimal(least):
            raise PydanticCustomError("number_small", "must be at least {least}", {"least": least})
        if number > Decimal(most):
            raise PydanticCustomError("number_large", "must be at most {most}", {"most": most})
        return number

    return check


_ON_THE_WIRE = PlainSerializer(float, return_type=float)

Threshold: TypeAlias = Annotated[
    Decimal,
    AfterValidator(_between("0.01", "0.99")),
    AfterValidator(_survives_json),
    BeforeValidator(_read),
    _ON_THE_WIRE,
    WithJsonSchema({"type": "number", "minimum": 0.01, "maximum": 0.99}),
]
"""A score to compare with: 0.01..0.99, kept exactly as written."""

TopK: TypeAlias = Annotated[
    Decimal,
    AfterValidator(_between("0", "2")),
    AfterValidator(_survives_json),
    BeforeValidator(_read),
    _ON_THE_WIRE,
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 2}),
]
"""How many traits the simulated user has, as a share of five: 0..2."""

Decay: TypeAlias = Annotated[
    Decimal,
    AfterValidator(_between("0", "1")),
    AfterValidator(_survives_json),
    BeforeValidator(_read),
    _ON_THE_WIRE,
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1}),
]
"""The chance of each trait to be redrawn after a turn: 0..1."""

Price: TypeAlias = Annotated[Decimal, BeforeValidator(_read), _ON_THE_WIRE]
"""US dollars per million tokens, read back as it was written."""
