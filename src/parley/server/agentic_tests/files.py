"""Tests as a file: a list `tests`, and `defaults` that each takes over. The command line reads the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from parley.engine import strictyaml
from parley.server.definitions.read import read_definition
from parley.server.errors import InvalidRequest

Fields: TypeAlias = dict[str, Any]

MOST_TESTS = 100
"""Tests in one file, read or written."""
_MOST_VALUES = 300 * MOST_TESTS
"""Keys and values in one file: more than tests have fields, and at most some 2 s of reading."""


def written(definitions: Sequence[Mapping[str, Any]]) -> str:
    """A file of these definitions, without the fields that have their default."""
    return strictyaml.write({"tests": [_short(fields) for fields in definitions]})


def read(text: str) -> list[Fields]:
    """The tests of a file, each with the defaults filled in; their fields are not looked at.

    Raises `InvalidRequest`.
    """
    try:
        content = strictyaml.read(text, most_values=_MOST_VALUES)
    except strictyaml.YamlUnreadable as fault:
        place = f" (line {fault.line}, column {fault.column})" if fault.line else ""
        raise InvalidRequest.field("", f"{fault.problem}{place}") from None
    if not isinstance(content, dict) or not isinstance(content.get("tests"), list):
        raise InvalidRequest.field("tests", "must be a list of tests")
    if strange := sorted(set(content) - {"tests", "defaults"}):
        raise InvalidRequest.field(strange[0], "is unknown here; a file has tests and defaults")
    if len(content["tests"]) > MOST_TESTS:
        raise InvalidRequest.field("tests", f"must have at most {MOST_TESTS} items")
    defaults = content.get("defaults") or {}
    if not isinstance(defaults, dict):
        raise InvalidRequest.field("defaults", "must be an object")
    return [_whole(entry, defaults, place) for place, entry in enumerate(content["tests"])]


def _whole(entry: object, defaults: Fields, place: int) -> Fields:
    if not isinstance(entry, dict):
        raise InvalidRequest.field(f"tests.{place}", "must be an object")
    return {**defaults, **entry}


def _short(fields: Mapping[str, Any]) -> Fields:
    """The name and the gateway first, as a person would write it."""
    short = read_definition(dict(fields)).model_dump(mode="json", exclude_defaults=True)
    return {name: short.pop(name) for name in ("name", "gateway", "goal")} | short
