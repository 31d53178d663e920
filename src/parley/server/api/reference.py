"""`/docs`: the API's reference as one plain page, made from the OpenAPI document.

It loads nothing from elsewhere and needs no script, so it works on a machine without internet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_METHODS = ("get", "post", "put", "patch", "delete")
_BOUNDS = {
    "minimum": "from {}",
    "exclusiveMinimum": "above {}",
    "maximum": "to {}",
    "exclusiveMaximum": "below {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "maxProperties": "at most {} members",
    "pattern": "matches {}",
}
_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { margin: 0 auto; max-width: 60rem; padding: 1rem }
section { border-top: 1px solid #8886; margin-top: 2rem }
code, pre { font: 0.9em/1.4 ui-monospace, monospace }
pre { overflow-x: auto; padding: .75rem; background: #8882; border-radius: .4rem }
table { border-collapse: collapse; width: 100% }
td, th { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid #8883 }
.method { font-weight: 700; text-transform: uppercase }
"""


def reference_page(document: Mapping[str, Any]) -> str:
    """The whole page."""
    title = f"{document['info']['title']} API {document['info']['version']}"
    operations = list(_operations(document))
    return "".join(
        (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>{_STYLE}</style><h1>{escape(title)}</h1>",
            _paragraphs(document["info"].get("description", "")),
            '<p>For tools: <a href="openapi.json">openapi.json</a>.</p>',
            _keys(document),
            _contents(operations),
            *(_section(document, *operation) for operation in operations),
            "</html>",
        )
    )


def _operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, operations in document["paths"].items():
        for method in _METHODS:
            if method in operations:
                yield method, path, operations[method]


def _keys(document: Mapping[str, Any]) -> str:
    rows = (
        (name, scheme.get("description") or f"<{scheme.get('name', '')}> in the {scheme.get('in', '')}")
        for name, scheme in document["components"]["securitySchemes"].items()
    )
    return "<h2>Ways to send a key</h2>" + _table(("way", "how"), rows)


def _contents(operations: list[tuple[str, str, Mapping[str, Any]]]) -> str:
    lines = (
        f'<li><a href="#{_anchor(method, path)}"><span class="method">{method}</span> '
        f"<code>{escape(path)}</code></a> {escape(operation.get('summary', ''))}</li>"
        for method, path, operation in operations
    )
    return f"<h2>Contents</h2><ul>{''.join(lines)}</ul>"


def _section(document: Mapping[str, Any], method: str, path: str, operation: Mapping[str, Any]) -> str:
    return "".join(
        (
            f'<section id="{_anchor(method, path)}"><h2>{escape(operation.get("summary", path))}</h2>',
            f'<p><span class="method">{method}</span> <code>{escape(path)}</code></p>',
            _paragraphs(operation.get("description", "")),
            _parameters(document, operation),
            _body(document, operation),
            _answers(document, operation),
            "</section>",
        )
    )


def _parameters(document: Mapping[str, Any], operation: Mapping[str, Any]) -> str:
    rows = [
        (
            parameter["name"],
            parameter["in"],
            _kind(document, parameter["schema"]),
            parameter.get("description", ""),
        )
        for parameter in operation.get("parameters", ())
    ]
    return "<h3>Parameters</h3>" + _table(("name", "in", "accepted", "meaning"), rows) if rows else ""


def _body(document: Mapping[str, Any], operation: Mapping[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return ""
    examples = [content["example"]] if "example" in content else []
    examples += [example["value"] for example in content.get("examples", {}).values() if "value" in example]
    examples += _resolved(document, content["schema"]).get("examples", [])
    return "<h3>Body</h3>" + _fields(document, content["schema"]) + "".join(map(_pre, examples))


def _answers(document: Mapping[str, Any], operation: Mapping[str, Any]) -> str:
    rows: list[tuple[str, str]] = []
    shapes = ""
    for status, response in sorted(operation["responses"].items()):
        rows.append((status, response.get("description", "")))
        schema = response.get("content", {}).get("application/json", {}).get("schema")
        if status < "300" and schema:
            shapes = "<h3>Answer</h3>" + _fields(document, _data_of(document, schema))
    return shapes + "<h3>Statuses</h3>" + _table(("status", "code and meaning"), rows)


def _data_of(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """What stands in the envelope."""
    inner = _resolved(document, schema).get("properties", {}).get("data", schema)
    found: Mapping[str, Any] = inner.get("items", inner)
    return found


def _fields(document: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    resolved = _resolved(document, schema)
    required = resolved.get("required", ())
    rows = [
        (
            name,
            _kind(document, field) + ("" if name in required else _default(field)),
            field.get("description", ""),
        )
        for name, field in sorted(
            resolved.get("properties", {}).items(), key=lambda pair: pair[0] not in required
        )
    ]
    return _table(("field", "accepted", "meaning"), rows) if rows else ""


def _default(field: Mapping[str, Any]) -> str:
    return f"; default {json.dumps(field['default'])}" if "default" in field else "; may be left out"


def _kind(document: Mapping[str, Any], schema: Mapping[str, Any], depth: int = 0) -> str:
    schema = _resolved(document, schema)
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    for branches in ("anyOf", "oneOf"):
        if branches in schema:
            return " | ".join(_kind(document, branch, depth) for branch in schema[branches])
    kind = str(schema.get("format") or schema.get("type", "any value"))
    if schema.get("type") == "array" and "items" in schema:
        kind = f"list of ({_kind(document, schema['items'], depth + 1)})"
    elif schema.get("properties") and depth < 2:
        members = schema["properties"].items()
        kind = (
            "{" + ", ".join(f"{name}: {_kind(document, field, depth + 1)}" for name, field in members) + "}"
        )
    bounds = [text.format(_plain(schema[name])) for name, text in _BOUNDS.items() if name in schema]
    return ", ".join([kind, *bounds])


def _plain(bound: Any) -> Any:
    """A whole number without its decimal point."""
    return int(bound) if isinstance(bound, float) and bound.is_integer() else bound


def _resolved(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema a reference leads to; of a value that may be null, what it is otherwise."""
    wanted = [branch for branch in schema.get("anyOf", ()) if branch.get("type") != "null"]
    if len(wanted) == 1:
        return _resolved(document, wanted[0])
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    found: Mapping[str, Any] = document["components"]["schemas"][reference.rpartition("/")[2]]
    return found


def _table(heads: tuple[str, ...], rows: Any) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    lines = "".join(
        f"<tr><td><code>{escape(str(row[0]))}</code></td>"
        + "".join(f"<td>{_inline(str(cell))}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{lines}</table>"


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{_inline(part)}</p>" for part in text.split("\n\n") if part.strip())


def _inline(text: str) -> str:
    """Escaped text; what stands between backticks as code, two spaces before a line break as a break."""
    parts = escape(text).replace("  \n", "<br>").split("`")
    return "".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts))


def _pre(value: Any) -> str:
    return f"<pre>{escape(json.dumps(value, indent=2, ensure_ascii=False))}</pre>"


def _anchor(method: str, path: str) -> str:
    return escape(method + path.replace("/", "-").replace("{", "").replace("}", ""))
