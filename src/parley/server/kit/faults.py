"""Pydantic's errors as the API tells them: dotted field, problem, nearest known field."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from pydantic import BaseModel

from parley.server.errors import InvalidRequest
from parley.server.kit.strictjson import EMPTY_BODY
from parley.server.kit.wording import problem_of

MOST_FAULTS: Final = 1_000
"""Told one by one; the rest is counted. A body may have hundreds of thousands, each slow to word."""
_MOST_COMPARED_CHARS = 100
"""Of a name nobody knows: longer ones take long to compare and are no slips."""


def invalid_request(errors: Sequence[Mapping[str, Any]], body: Any, schema: Any = None) -> InvalidRequest:
    """The `errors` of a validation as one answer. `body` is what was sent, `schema` what was wanted."""
    faults = [_fault(error, body, schema) for error in errors[:MOST_FAULTS]]
    if len(errors) > MOST_FAULTS:
        faults.append(("", f"has {len(errors) - MOST_FAULTS:,} more faults"))
    return InvalidRequest.faults(faults)


def _fault(error: Mapping[str, Any], body: Any, schema: Any) -> tuple[str, str]:
    context = error.get("ctx") or {}
    path = _sent_path(error["loc"], body)
    match error["type"]:
        case "unreadable_body":
            return str(context["field"]), str(context["problem"])
        case "extra_forbidden":
            return _dotted(path), unknown_field(str(path[-1]), _known_fields(schema, path[:-1]))
        case "missing" if not error["loc"]:
            return "", EMPTY_BODY
        case "missing":
            return _dotted(path), "is required"
        case "model_type" | "model_attributes_type" | "dict_type":
            return _dotted(path), "should be a JSON object"
        case _:
            return _dotted(path), problem_of(error)


def _dotted(path: Sequence[str | int]) -> str:
    return ".".join(str(step) for step in path)


def _sent_path(loc: Sequence[str | int], body: Any) -> list[str | int]:
    """`loc` without the steps that name a branch of a union rather than something that was sent."""
    path: list[str | int] = []
    value = body
    for place, step in enumerate(loc):
        is_sent, inner = _member(value, step)
        if is_sent or (place == len(loc) - 1 and isinstance(value, Mapping)):
            path.append(step)
            value = inner
    return path


def _member(value: Any, step: str | int) -> tuple[bool, Any]:
    try:
        return True, value[step]
    except (KeyError, IndexError, TypeError):
        return False, None


def unknown_field(name: str, known: Iterable[str]) -> str:
    """The problem of a field nobody knows, with the nearest known name where one is near."""
    near = get_close_matches(name[:_MOST_COMPARED_CHARS], list(known), n=1, cutoff=0.6)
    return f"is not a known field; did you mean '{near[0]}'?" if near else "is not a known field"


def _known_fields(schema: Any, path: Sequence[str | int]) -> list[str]:
    candidates = list(_bodies(schema))
    for step in path:
        if isinstance(step, str):
            fields = [body.model_fields[step] for body in candidates if step in body.model_fields]
            candidates = [inner for field in fields for inner in _bodies(field.annotation)]
    return [name for body in candidates for name in body.model_fields]


def _bodies(annotation: Any) -> Iterable[type[BaseModel]]:
    if not typing.get_args(annotation):
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield annotation
        return
    for inner in typing.get_args(annotation):
        yield from _bodies(inner)
