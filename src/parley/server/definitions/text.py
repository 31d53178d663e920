"""What a body's texts and numbers may hold: only what can be stored and sent on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal

from parley.server.definitions.faults import Fault, path_of
from parley.server.kit.text import is_storable

DEEPEST = 64
"""Levels of lists and objects a body may nest: far above any definition, far below the parsers' limits."""


def text_problem(text: str) -> str | None:
    """Why `text` cannot be stored as it is, or None."""
    if is_storable(text):
        return None
    return "must not contain a NUL character or half of a surrogate pair"


def unfit_values(value: object) -> Iterator[Fault]:
    """A fault for every string and number anywhere in `value` that cannot be stored as it is."""
    stack: list[tuple[tuple[str | int, ...], object]] = [((), value)]
    while stack:
        steps, item = stack.pop()
        if len(steps) > DEEPEST:
            yield Fault(field=path_of(steps[:2]), problem=f"is nested deeper than {DEEPEST} levels")
            return
        if (problem := _scalar_problem(item)) is not None:
            yield Fault(field=path_of(steps), problem=problem)
        if isinstance(item, dict):
            for key, below in item.items():
                if (problem := text_problem(str(key))) is not None:
                    yield Fault(field=path_of(steps), problem=f"has a name that {problem}")
                else:
                    stack.append(((*steps, key), below))
        elif isinstance(item, list):
            stack.extend(((*steps, place), below) for place, below in enumerate(item))


def _scalar_problem(item: object) -> str | None:
    if isinstance(item, str):
        return text_problem(item)
    if isinstance(item, float | Decimal) and not math.isfinite(float(item)):
        return "must be a finite number that fits a double"
    return None


def plain(value: object) -> object:
    """`value` with its decimals as floats, so that it can be written as JSON again."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: plain(below) for key, below in value.items()}
    if isinstance(value, list):
        return [plain(below) for below in value]
    return value
