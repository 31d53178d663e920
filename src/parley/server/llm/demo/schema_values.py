"""A value that fits a JSON Schema, always the same for the same schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 12
"""Nesting at which a recursive schema is given up with null."""


def fitting_value(schema: Mapping[str, Any], named: Mapping[str, Any]) -> Any:
    """A value for `schema`; properties whose name stands in `named` take that value."""
    return _value(schema, schema, named, MAX_DEPTH)


def _value(schema: Mapping[str, Any], root: Mapping[str, Any], named: Mapping[str, Any], depth: int) -> Any:
    if depth == 0:
        return None
    if "$ref" in schema:
        return _value(_resolved(root, schema["$ref"]), root, named, depth - 1)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for choice in ("anyOf", "oneOf", "allOf"):
        if schema.get(choice):
            options = [option for option in schema[choice] if option.get("type") != "null"]
            return _value(options[0], root, named, depth - 1) if options else None
    if "properties" in schema:
        return {
            name: named[name] if name in named else _value(inner, root, named, depth - 1)
            for name, inner in schema["properties"].items()
        }
    return _plain_value(schema, root, named, depth)


def _plain_value(
    schema: Mapping[str, Any], root: Mapping[str, Any], named: Mapping[str, Any], depth: int
) -> Any:
    kinds = schema.get("type")
    kind = next((k for k in kinds if k != "null"), "null") if isinstance(kinds, list) else kinds
    match kind:
        case "object":
            return {}
        case "array":
            items = schema.get("items") or {}
            return [_value(items, root, named, depth - 1) for _ in range(schema.get("minItems", 1))]
        case "boolean":
            return False
        case "integer":
            return int(schema.get("minimum", 1))
        case "number":
            return schema.get("minimum", 0.5)
        case "null":
            return None
        case _:
            return "A short answer that fits the schema."


def _resolved(root: Mapping[str, Any], pointer: str) -> Mapping[str, Any]:
    node: Any = root
    for step in pointer.removeprefix("#").strip("/").split("/"):
        node = node[step] if step else node
    return node if isinstance(node, Mapping) else {}
