"""JSON that an agent or a judge wrote, read strictly: one value, finite numbers, a bounded size."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

MAX_CHARS = 200_000
"""Longer texts are not read as JSON."""


class JsonUnreadable(ValueError):
    """A text is not one JSON value. `problem` says why, without quoting the text."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def read_json(text: str) -> Any:
    """The value that `text` holds. Raises `JsonUnreadable`, and nothing else.

    A key given twice, NaN, infinities and numbers beyond a double are refused: two readers would take them
    for different values.
    """
    if len(text) > MAX_CHARS:
        raise JsonUnreadable(f"It is longer than {MAX_CHARS:,} characters.")
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise JsonUnreadable(f"It is not JSON: {error.msg} at line {error.lineno}.") from None
    except JsonUnreadable:
        raise
    except RecursionError:
        raise JsonUnreadable("It is nested too deeply.") from None
    except ValueError:
        raise JsonUnreadable("It holds a number with too many digits.") from None


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise JsonUnreadable("It holds a number that is not finite.")
    return value


def _refuse_constant(_name: str) -> NoReturn:
    raise JsonUnreadable("It holds a number that is not finite.")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise JsonUnreadable("It gives one key twice.")
    return value


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_refuse_constant, object_pairs_hook=_unique)
