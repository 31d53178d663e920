from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.engine.checks.faults import CheckCouldNotRun, SchemaRefused
from parley.engine.checks.schema import MAX_CHARS, MAX_DEPTH, MAX_FAULTS, MAX_NODES, read_schema

ORDER = {
    "type": "object",
    "required": ["id", "items"],
    "properties": {
        "id": {"type": "string", "pattern": "^A-[0-9]+$"},
        "items": {"type": "array", "uniqueItems": True, "items": {"$ref": "#/$defs/item"}},
    },
    "additionalProperties": False,
    "$defs": {"item": {"type": "object", "properties": {"name": {"type": "string"}}}},
}


def problems(schema: Any, value: Any) -> dict[str, str]:
    return {fault.path: fault.problem for fault in read_schema(schema).faults(value)}


def test_value_that_fits_has_no_faults() -> None:
    assert problems(ORDER, {"id": "A-1", "items": [{"name": "tea"}]}) == {}


def test_each_fault_names_its_place() -> None:
    found = problems(ORDER, {"id": "B", "items": [{"name": 1}], "extra": 1})
    assert set(found) == {"id", "items[0].name", ""}
    assert "does not match" in found["id"]
    assert "'extra'" in found[""]


@pytest.mark.parametrize(
    "dialect",
    [
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema#",
    ],
)
def test_known_dialects_are_taken_and_keep_to_our_patterns_behind_a_reference(dialect: str) -> None:
    schema = {
        "$schema": dialect,
        "$id": "https://example.com/tree",
        "properties": {"name": {"type": "string", "pattern": "^(a+)+$"}, "child": {"$ref": "#"}},
    }
    # `re` would take longer than the universe on this one.
    assert set(problems(schema, {"child": {"child": {"name": "a" * 60 + "!"}}})) == {"child.child.name"}


def test_pattern_properties_and_additional_properties_go_together() -> None:
    schema = {
        "properties": {"id": True},
        "patternProperties": {"^x-": {"type": "string"}},
        "additionalProperties": {"type": "integer"},
    }
    assert set(problems(schema, {"id": None, "x-a": "text", "x-b": 1, "c": 1, "d": "text"})) == {"x-b", "d"}


@pytest.mark.parametrize(
    ("items", "unique"),
    [
        ([1, 1.0], False),
        ([1, True], True),
        ([0, False], True),
        ([{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}], False),
        ([[1], [True]], True),
        (["1", 1], True),
        ([None, None], False),
        ([{}, []], True),
    ],
)
def test_items_are_unique_as_json_is(items: list[Any], unique: bool) -> None:
    assert (problems({"uniqueItems": True}, items) == {}) is unique


@pytest.mark.parametrize(
    ("schema", "path", "words"),
    [
        ("text", "", "an object"),
        ({"$schema": "https://example.com/mine"}, "$schema", "Only these"),
        ({"$ref": "https://example.com/other"}, "$ref", "within the schema"),
        ({"items": {"$ref": "other.json#/a"}}, "items.$ref", "within the schema"),
        ({"$ref": "file:///etc/passwd"}, "$ref", "within the schema"),
        ({"$ref": "#/$defs/none"}, "$ref", "must lead to a schema"),
        ({"const": {"pattern": "^(a+)+$"}, "$ref": "#/const"}, "$ref", "must lead to a schema"),
        ({"items": {"$id": "https://example.com"}}, "items.$id", "as a whole"),
        ({"items": {"$schema": "http://json-schema.org/draft-07/schema"}}, "items.$schema", "as a whole"),
        ({"$dynamicRef": "#a"}, "$dynamicRef", "not taken"),
        ({"unevaluatedProperties": False}, "unevaluatedProperties", "not taken"),
        ({"type": "strin"}, "type", "'strin'"),
        ({"properties": {"a": {"minLength": -1}}}, "properties.a.minLength", "-1"),
        ({"properties": {"a": {"pattern": "(?=a)"}}}, "properties.a.pattern", "RE2"),
        ({"patternProperties": {"(": True}}, "patternProperties", "missing )"),
        ({"a": [{}] * MAX_NODES}, "", "2,000 values"),
        ({"title": "a" * MAX_CHARS}, "", "100,000 characters"),
        ({1: True}, "", "is a text"),
    ],
)
def test_schema_that_is_no_schema_or_leads_outside_is_refused(schema: Any, path: str, words: str) -> None:
    with pytest.raises(SchemaRefused) as refused:
        read_schema(schema)
    assert refused.value.path == path
    assert words in refused.value.problem


def nested(depth: int) -> Any:
    schema: Any = True
    for _ in range(depth - 1):
        schema = {"items": schema}
    return schema


def test_deepest_schema_is_taken_and_one_level_more_is_not() -> None:
    read_schema(nested(MAX_DEPTH))
    with pytest.raises(SchemaRefused, match="more than 32 deep"):
        read_schema(nested(MAX_DEPTH + 1))
    with pytest.raises(SchemaRefused, match="more than 32 deep"):
        read_schema(nested(100_000))


def test_words_of_a_schema_are_no_keywords_where_they_are_names_or_data() -> None:
    schema = {
        "properties": {"$ref": {"type": "string"}, "pattern": {"const": {"$ref": "https://example.com"}}},
        "dependentRequired": {"$ref": ["pattern"]},
    }
    assert problems(schema, {"$ref": "a", "pattern": {"$ref": "https://example.com"}}) == {}


def test_references_that_double_at_every_level_run_out_of_steps() -> None:
    parts = {f"p{n}": {"allOf": [{"$ref": f"#/$defs/p{n + 1}"}] * 2} for n in range(60)}
    schema = read_schema({"$defs": {**parts, "p60": {"type": "string"}}, "$ref": "#/$defs/p0"})
    with pytest.raises(CheckCouldNotRun, match="too many steps"):
        schema.faults("text")


def test_reference_to_itself_is_stopped() -> None:
    schema = read_schema({"$ref": "#"})
    with pytest.raises(CheckCouldNotRun):
        schema.faults(1)


def test_many_branches_over_a_large_value_run_out_of_steps_before_memory() -> None:
    schema = read_schema({"anyOf": [{"type": "string"}] * 900})
    with pytest.raises(CheckCouldNotRun, match="too many steps"):
        schema.faults(["a" * 1_000] * 200)


def test_large_list_is_told_from_a_set_without_comparing_every_pair() -> None:
    values: list[Any] = [{"n": number} for number in range(15_000)]
    assert problems({"uniqueItems": True}, values) == {}
    assert set(problems({"uniqueItems": True}, [*values, {"n": 0.0}])) == {""}


def test_faults_are_the_first_ones_and_short() -> None:
    faults = read_schema({"items": {"type": "integer"}}).faults(["a" * 1_000] * 50)
    assert len(faults) == MAX_FAULTS
    assert all(len(fault.problem) < 400 for fault in faults)


KEYWORDS: st.SearchStrategy[Any] = st.recursive(
    st.booleans()
    | st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "object", "array", "null"]),
            "minLength": st.integers(0, 3),
            "maximum": st.integers(-3, 3),
            "pattern": st.sampled_from(["a", "^b", "[0-9]$"]),
            "required": st.lists(st.sampled_from("ab"), unique=True),
            "uniqueItems": st.booleans(),
        },
    ),
    lambda part: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from("abc"), part, max_size=2),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), part, max_size=2),
            "additionalProperties": part,
            "items": part,
            "anyOf": st.lists(part, min_size=1, max_size=2),
            "not": part,
        },
    ),
    max_leaves=6,
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-4, 4) | st.text("ab1", max_size=3),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.sampled_from("abc"), part, max_size=3),
    max_leaves=6,
)


@given(schema=KEYWORDS, value=VALUES)
def test_our_keywords_agree_with_those_of_the_library(schema: Any, value: Any) -> None:
    theirs = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (read_schema(schema).faults(value) == ()) is theirs
