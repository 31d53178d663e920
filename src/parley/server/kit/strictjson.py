"""JSON without its traps: no NaN, no repeated keys, no text that cannot be stored."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, NoReturn

from parley.server.kit.text import is_storable

MAX_EXACT_INT = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly, JavaScript's among them. Seeds end there."""
EMPTY_BODY = "is empty; send a JSON object"
"""The problem of a body that should have been there."""
MAX_DEPTH = 64
"""Objects and lists within one another; deeper bodies are refused (our choice)."""

MAX_VALUES = 1_000_000
"""In one text: ten bytes each in the largest body. What holds more is made to cost time and memory."""
_LEAST_VALUE_BYTES = 2
"""A digit and a comma."""


class UnreadableJsonError(ValueError):
    """The text is not acceptable JSON. `field` is the dotted path, empty where it is the whole."""

    def __init__(self, problem: str, field: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.field = field


def read(raw: bytes) -> Any:
    """The value written in `raw`. Raises `UnreadableJsonError` at the first fault."""
    if not raw.strip():
        raise UnreadableJsonError(EMPTY_BODY)
    try:
        value = json.loads(raw.decode("utf-8"), parse_constant=_not_finite, object_pairs_hook=_once_each)
    except UnreadableJsonError:
        raise
    except UnicodeDecodeError as fault:
        raise UnreadableJsonError(f"is not UTF-8 (byte {fault.start})") from None
    except json.JSONDecodeError as fault:
        where = f"line {fault.lineno} column {fault.colno}"
        raise UnreadableJsonError(f"is not JSON: {fault.msg}, {where}") from None
    except RecursionError:
        raise UnreadableJsonError(f"is nested deeper than {MAX_DEPTH} levels") from None
    except ValueError:
        raise UnreadableJsonError("holds a number with too many digits") from None
    if len(raw) > MAX_VALUES * _LEAST_VALUE_BYTES and _has_too_many(value):
        raise UnreadableJsonError(f"holds more than {MAX_VALUES:,} values")
    for problem, field in _faults(value, "", 0):
        raise UnreadableJsonError(problem, field)
    return value


def write(value: Any) -> str:
    """`value` as JSON text. Raises ValueError for NaN and infinities rather than write them."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def _not_finite(name: str) -> NoReturn:
    raise UnreadableJsonError(f"holds {name}, which is not a JSON number")


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        repeated = next(name for name, count in counts.items() if count > 1)
        raise UnreadableJsonError("is given twice", repeated if is_storable(repeated) else "")
    return found


def _has_too_many(value: Any) -> bool:
    left, seen = [value], 0
    while left and seen <= MAX_VALUES:
        one = left.pop()
        seen += 1
        if isinstance(one, dict):
            left.extend(one.values())
        elif isinstance(one, list):
            left.extend(one)
    return seen > MAX_VALUES


def _faults(value: Any, path: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > MAX_DEPTH:
        yield f"is nested deeper than {MAX_DEPTH} levels", ""
    elif isinstance(value, str):
        if not is_storable(value):
            yield "holds a NUL character or half of a surrogate pair", path
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield "is too large a number", path
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _faults(item, f"{path}.{index}" if path else str(index), depth + 1)
    elif isinstance(value, dict):
        for name, item in value.items():
            if not is_storable(name):
                yield "has a field name with a NUL character or half of a surrogate pair", path
                return
            yield from _faults(item, f"{path}.{name}" if path else name, depth + 1)
