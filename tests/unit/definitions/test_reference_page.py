"""The field tables of the reference page say what the schemas accept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from parley.server.definitions.openapi import whole_schema
from parley.server.definitions.schemas import NAMES_BELOW, Definition, DirectBody

PAGE = Path(__file__).parents[3] / "docs/reference/agentic-tests.md"


def bounds(schema: dict[str, Any]) -> str:
    """What a field takes, in the words of the page."""
    shapes = [shape for shape in schema.get("anyOf", [schema]) if shape.get("type") != "null"]
    if len(shapes) + len(schema.get("oneOf", ())) > 1 or "oneOf" in shapes[0]:
        return "text, not blank, at most 32,000 characters"
    shape = shapes[0]
    match shape["type"]:
        case "integer" | "number":
            return f"{shape['minimum']}..{shape['maximum']}"
        case "boolean":
            return "true or false"
        case "array":
            return f"at most {shape['maxItems']}"
        case "object":
            return f"at most {shape['maxProperties']} pairs" if "maxProperties" in shape else "object"
        case _ if "enum" in shape:
            return ", ".join(shape["enum"])
        case _:
            return f"{shape.get('minLength', 0)}..{shape['maxLength']} characters"


def row(name: str, schema: dict[str, Any], required: bool) -> str:
    default = "required" if required else f"`{json.dumps(schema['default'])}`"
    return f"| `{name}` | {default} | {bounds(schema)} | {schema['description']} |"


@pytest.mark.parametrize("name", Definition.model_fields)
def test_page_tells_default_and_bounds_of_every_field(name: str) -> None:
    schema = whole_schema(Definition)
    wanted = row(name, schema["properties"][name], name in schema["required"])
    assert wanted in PAGE.read_text().splitlines()


def test_page_tells_no_field_that_does_not_exist() -> None:
    text = PAGE.read_text()
    table = text.partition("## Fields")[2].partition("\n## ")[0]
    told = {line.split("`")[1] for line in table.splitlines() if line.startswith("| `")}
    nested = {f"user_sampling.{name}" for name in NAMES_BELOW["user_sampling"]}
    assert told == set(Definition.model_fields) | nested


def test_page_names_every_field_of_the_direct_body_that_tests_do_not_have() -> None:
    text = PAGE.read_text().partition("## Direct evaluations")[2]
    for name in set(DirectBody.model_fields) ^ set(Definition.model_fields):
        assert f"`{name}`" in text
