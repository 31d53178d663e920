"""Pydantic's problems in the words of this house, for bodies, queries and settings alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WORDINGS: dict[str, str] = {
    "missing": "is required",
    "string_type": "must be a string",
    "int_type": "must be an integer",
    "int_parsing": "must be an integer",
    "int_parsing_size": "must be an integer of usual size",
    "int_from_float": "must be an integer",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "decimal_type": "must be a number",
    "decimal_parsing": "must be a number",
    "finite_number": "must be a number that is not infinite",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "dict_type": "must be an object",
    "list_type": "must be a list",
    "model_type": "must be an object",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be under {lt}",
    "less_than_equal": "must be at most {le}",
    "multiple_of": "must be a multiple of {multiple_of}",
    "decimal_max_places": "must have at most {decimal_places} decimal places",
    "string_too_short": "must have at least {min_length} character(s)",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "too_short": "must have at least {min_length} item(s)",
    "too_long": "must have at most {max_length} items",
    "literal_error": "must be {expected}",
}
"""Problems by Pydantic's error type; its own text stands where a type has none here."""
_PATTERNS: dict[str, str] = {
    r"\S": "must not be blank",
    r"^[\x21-\x7e]+$": "must be printable ASCII without spaces",
}
"""What patterns mean that a person would have to puzzle out."""


def problem_of(error: Mapping[str, Any]) -> str:
    """What is wrong, as it stands behind a field's name; `error` is one of a ValidationError's."""
    kind = str(error["type"])
    if error.get("input", ...) is None and (kind.endswith("_type") or kind == "literal_error"):
        return "must not be null"
    context: Mapping[str, Any] = error.get("ctx") or {}
    if kind == "string_pattern_mismatch" and context["pattern"] in _PATTERNS:
        return _PATTERNS[context["pattern"]]
    wording = _WORDINGS.get(kind)
    return wording.format(**context) if wording else str(error["msg"]).removeprefix("Value error, ")
