"""The bodies of definitions as OpenAPI tells them: whole schemas without references, with examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from parley.server.definitions.schemas import DirectBody


def request_body(schema: Mapping[str, Any], examples: Mapping[str, Any]) -> dict[str, Any]:
    """The `openapi_extra` of a route that reads its body itself. `examples` maps a summary to a body."""
    content = {
        "schema": dict(schema),
        "examples": {
            summary.lower().replace(" ", "_"): {"summary": summary, "value": value}
            for summary, value in examples.items()
        },
    }
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


def whole_schema(kind: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of a body, each reference replaced by what it names."""
    schema = kind.model_json_schema()
    definitions = schema.pop("$defs", {})
    whole = _whole(schema, definitions)
    if not isinstance(whole, dict):
        raise TypeError("a body's schema is an object")
    return whole


def change_schema(kind: type[BaseModel]) -> dict[str, Any]:
    """The schema of a body that sends only what changes: nothing is required, nothing has a default."""
    schema = whole_schema(kind)
    schema.pop("required", None)
    schema["properties"] = {
        name: {key: value for key, value in field.items() if key != "default"}
        for name, field in schema["properties"].items()
    }
    return schema


def direct_schema() -> dict[str, Any]:
    """The schema of a direct evaluation's body, with the two names that are resolved before it is read."""
    schema = whole_schema(DirectBody)
    schema["properties"] |= {
        "user": {"type": ["string", "null"], "description": "Another name for external_user_id."},
        "stream": {"description": "Accepted and ignored: the answer is always a stream."},
    }
    return schema


def _whole(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_whole(below, definitions) for below in node]
    if not isinstance(node, dict):
        return node
    if (reference := node.get("$ref")) is not None:
        named = definitions[str(reference).removeprefix("#/$defs/")]
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return _whole(named | beside, definitions)
    whole = {key: _whole(value, definitions) for key, value in node.items()}
    if whole.get("type") == "number" and isinstance(whole.get("default"), str):
        # Pydantic writes a decimal default as a string, which would be no number to a caller.
        whole["default"] = float(whole["default"])
    return whole
