"""Plain JSON data from outside: checked for what JSON cannot say, cleaned, and never shared."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from parley.engine.checks.schema import written_path
from parley.engine.script.faults import Problem
from parley.engine.text import clean

MAX_DEPTH: Final = 64
"""Objects and lists within each other; what is deeper has gone wrong, and would end in recursion errors."""


class NotPlain(ValueError):
    """A value is not plain JSON data. `problem` says where and why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def plain(value: object) -> Any:
    """A deep copy of `value` as JSON data, its texts cleaned. Raises `NotPlain`.

    Tuples become lists. Objects with other keys than texts, numbers that are not finite, and everything
    that JSON does not know are refused.
    """
    return _copy(value, ())


def _copy(value: object, path: tuple[str | int, ...]) -> Any:
    match value:
        case None | bool() | int():
            return value
        case str():
            return clean(value)
        case float():
            if not math.isfinite(value):
                raise _not_plain(path, "must be a finite number")
            return value
    if len(path) >= MAX_DEPTH:
        raise _not_plain(path, f"is nested more than {MAX_DEPTH} deep")
    if isinstance(value, dict):
        return {key: _copy(inner, (*path, key)) for key, inner in _members(value, path)}
    if isinstance(value, list | tuple):
        return [_copy(inner, (*path, index)) for index, inner in enumerate(value)]
    raise _not_plain(path, f"must be JSON, and {type(value).__name__} is not")


def _members(value: dict[Any, Any], path: tuple[str | int, ...]) -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        if not isinstance(key, str):
            raise _not_plain(path, f"has a key that is no text: {key!r}")
        yield clean(key), inner


def _not_plain(path: tuple[str | int, ...], problem: str) -> NotPlain:
    return NotPlain(Problem(written_path(path), problem))
