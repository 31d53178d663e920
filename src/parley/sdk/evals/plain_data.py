"""Whatever an agent hands over, as plain JSON data; recording must never break an agent."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_jsonable_python

from parley.engine.script.plain import NotPlain, plain


def jsonable(value: Any) -> Any:
    """`value` as JSON data: models and dataclasses by their fields, anything unknown by its repr."""
    try:
        return plain(to_jsonable_python(value, fallback=repr, inf_nan_mode="strings", by_alias=True))
    except (NotPlain, ValueError, RecursionError):
        return repr(value)
