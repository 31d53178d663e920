"""What OpenAPI tells of the bodies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from parley.server.definitions.openapi import change_schema, direct_schema, request_body, whole_schema
from parley.server.definitions.schemas import Definition


@pytest.mark.parametrize(
    "schema",
    [whole_schema(Definition), change_schema(Definition), direct_schema()],
    ids=["whole", "change", "direct"],
)
def test_schema_stands_alone_and_refuses_unknown_fields(schema: dict[str, Any]) -> None:
    assert "$ref" not in json.dumps(schema)
    assert "shape:" not in json.dumps(schema)
    assert schema["additionalProperties"] is False


def test_decimal_defaults_are_numbers() -> None:
    fields = whole_schema(Definition)["properties"]
    assert fields["loss_threshold"]["default"] == 0.2
    assert fields["user_sampling"]["properties"]["top_k"]["default"] == 0.4


def test_change_requires_nothing_and_fills_in_nothing() -> None:
    schema = change_schema(Definition)
    assert "required" not in schema
    assert all("default" not in field for field in schema["properties"].values())


def test_direct_body_tells_its_aliases_too() -> None:
    schema = direct_schema()
    assert {"model", "user", "stream", "external_user_id"} <= set(schema["properties"])
    assert sorted(schema["required"]) == ["goal", "model"]


def test_examples_are_named_by_their_summaries() -> None:
    body = request_body({"type": "object"}, {"The least": {"a": 1}})["requestBody"]
    assert body["required"]
    assert body["content"]["application/json"]["examples"] == {
        "the_least": {"summary": "The least", "value": {"a": 1}}
    }
