"""The sections of docs/reference/operators-api.md, as the app's OpenAPI document has them.

`python -m tests.contract.operators_page` prints them all, to be put behind the page's introduction.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

_BOUNDS = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " items"),
)


def sections_of(document: Mapping[str, Any]) -> Iterator[str]:
    """One for each operation: its line, what it does, what it takes, what it answers."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            head = f"### `{method.upper()} {path}`"
            about = " ".join(operation["description"].split())
            taken = _taken(document, operation, "as it is" if method == "patch" else None)
            parts = [head, f"{operation['summary']}. {about}", taken, _answered(document, operation)]
            yield "\n\n".join(part for part in parts if part) + "\n"


def _taken(document: Mapping[str, Any], operation: Mapping[str, Any], left_out: str | None) -> str:
    """Query parameters and fields of the body; `left_out` is what becomes of a field that is not sent."""
    fields = [
        (one["name"], one["schema"] | {"description": one.get("description")}, one["required"])
        for one in operation.get("parameters", ())
        if one["in"] == "query"
    ]
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is not None:
        body = _resolved(document, content["schema"])
        required = body.get("required", ())
        fields += [(name, field, name in required) for name, field in body["properties"].items()]
    lines = [_line(document, *field, left_out) for field in fields]
    head = ["| takes | default | accepted | meaning |", "|---|---|---|---|"]
    return "\n".join(head + lines) if lines else ""


def _line(
    document: Mapping[str, Any], name: str, schema: Mapping[str, Any], is_required: bool, left_out: str | None
) -> str:
    meaning = schema.get("description")
    if not meaning:
        raise ValueError(f"{name} has no description")
    default = "required" if is_required else left_out or f"`{json.dumps(schema.get('default'))}`"
    return f"| `{name}` | {default} | {_kind(document, schema)} | {meaning} |"


def _answered(document: Mapping[str, Any], operation: Mapping[str, Any]) -> str:
    status, answer = next(pair for pair in operation["responses"].items() if pair[0].startswith("2"))
    schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
    envelope = _resolved(document, schema).get("properties", {})
    if "data" not in envelope:
        return f"Answers {status}."
    data = envelope["data"]
    is_list = data.get("type") == "array"
    fields = _resolved(document, data["items"] if is_list else data)["properties"]
    each = "a page of " if "page" in envelope else "a list of " if is_list else ""
    return f"Answers {status} with {each}{', '.join(f'`{name}`' for name in fields)}."


def _kind(document: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_kind(document, branch) for branch in schema["anyOf"])
    schema = _resolved(document, schema)
    if "enum" in schema:
        return ", ".join(schema["enum"])
    kind = str(schema.get("format") or schema.get("type", "any value"))
    if kind == "array":
        kind = f"list of ({_kind(document, schema['items'])})"
    bounds = [
        f"{_plain(schema.get(low, 0))}..{_plain(schema[high])}{what}"
        for low, high, what in _BOUNDS
        if high in schema
    ]
    return ", ".join([kind, *bounds])


def _plain(bound: float) -> str:
    return f"{int(bound) if float(bound).is_integer() else bound:,}"


def _resolved(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    if reference is None:
        return schema
    found: Mapping[str, Any] = document["components"]["schemas"][reference.rpartition("/")[2]]
    return found


if __name__ == "__main__":
    from fastapi import FastAPI

    from parley.server.api import metrics, operated_retention
    from parley.server.operators.endpoints import router

    app = FastAPI()
    app.include_router(router)
    app.include_router(operated_retention.router)
    app.include_router(metrics.router)
    sys.stdout.write("\n".join(sections_of(app.openapi())))
