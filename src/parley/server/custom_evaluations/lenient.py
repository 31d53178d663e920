"""Bodies of this plane: strict in what they know, and what they do not know is told, not refused."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from parley.server.kit.schemas import Body

MOST_IGNORED = 100
"""Names of unknown fields that an answer tells; a body may hold any number."""
_LONGEST_NAME = 200


class Lenient(Body):
    """The base of what a pipeline sends: camelCase, strict types, unknown fields let pass."""

    model_config = ConfigDict(  # type: ignore[pydantic-alias]  # these shapes are read, never made by name
        extra="allow", strict=True, frozen=True, alias_generator=to_camel
    )


class Kept(Lenient):
    """Fields of the usual flow that are stored as they come and used for nothing."""

    input: Any = None
    trace_id: Any = None
    sdk: Any = None
    evaluation_subject: Any = None
    number_of_requests: Any = None

    def kept(self) -> dict[str, Any]:
        """Those that were sent."""
        sent = {name: getattr(self, name) for name in Kept.model_fields if name in self.model_fields_set}
        return {to_camel(name): value for name, value in sent.items()}


def ignored(body: BaseModel, prefix: str = "") -> list[str]:
    """Dotted names of the fields of `body` that nobody knows, at most `MOST_IGNORED`."""
    found: list[str] = []
    for name in _unknown(body, prefix):
        if len(found) == MOST_IGNORED:
            break
        found.append(name[:_LONGEST_NAME])
    return found


def written(value: Any) -> Any:
    """`value` as plain JSON data in the names of the wire, without what is unknown, null or as by default.

    It reads back to the same, and two ways to say one thing are written alike.
    """
    if isinstance(value, Lenient):
        fields = ((getattr(value, name), field) for name, field in type(value).model_fields.items())
        return {
            str(field.alias): written(inner)
            for inner, field in fields
            if inner is not None and inner != field.get_default(call_default_factory=True)
        }
    if isinstance(value, BaseModel):
        return written(value.model_dump(by_alias=True, exclude_defaults=True))
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {name: written(inner) for name, inner in value.items()}
    return [written(inner) for inner in value] if isinstance(value, list | tuple) else value


def _unknown(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, BaseModel):
        yield from (_joined(path, name) for name in value.model_extra or {})
        for name, field in type(value).model_fields.items():
            yield from _unknown(getattr(value, name), _joined(path, field.alias or name))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _unknown(inner, _joined(path, str(index)))


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
