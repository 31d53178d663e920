"""Whatever an agent hands over, as plain JSON data; recording must never break an agent."""

from __future__ import annotations

import math
from typing import Any

from pydantic_core import to_jsonable_python

from parley.engine.script.plain import NotPlain, plain


def jsonable(value: Any) -> Any:
    """`value` as JSON data: models and dataclasses by their fields, anything unknown by its repr."""
    try:
        return plain(_with_named_floats(to_jsonable_python(value, fallback=repr, by_alias=True)))
    except (NotPlain, ValueError, RecursionError):
        return repr(value)


def _with_named_floats(value: Any) -> Any:
    """Infinities and NaN, which JSON has no numbers for, as their names."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _with_named_floats(inner) for key, inner in value.items()}
    return [_with_named_floats(inner) for inner in value] if isinstance(value, list) else value
