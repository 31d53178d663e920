"""What usage can be told apart by."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

UsagePart: TypeAlias = Literal["day", "role", "model", "test"]

USAGE_PARTS: Final[tuple[UsagePart, ...]] = get_args(UsagePart)


def parts_of(text: str) -> tuple[UsagePart, ...]:
    """The parts that a text such as "day,role" names. Raises `ValueError` for another word, and for none."""
    named = {word.strip() for word in text.split(",")}
    if not named <= set(USAGE_PARTS):
        raise ValueError(text)
    return tuple(part for part in USAGE_PARTS if part in named)
