"""JSON without its traps."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.server.kit import strictjson

storable_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | storable_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(storable_text, inner, max_size=4),
    max_leaves=20,
)


@given(values)
def test_what_was_written_is_read(value: Any) -> None:
    assert strictjson.read(strictjson.write(value).encode()) == value


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    try:
        value = strictjson.read(raw)
    except strictjson.UnreadableJsonError:
        return
    assert json.loads(raw) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": [float("-inf")]}])
def test_numbers_that_are_none_are_not_written(value: Any) -> None:
    """C178."""
    with pytest.raises(ValueError, match="JSON"):
        strictjson.write(value)


def test_fault_names_the_path_of_its_value() -> None:
    with pytest.raises(strictjson.UnreadableJsonError) as caught:
        strictjson.read(b'{"a": [{"b": "x"}, {"b": "\\u0000"}]}')
    assert caught.value.field == "a.1.b"


def test_deep_values_are_read_to_the_bound() -> None:
    deepest = b"[" * (strictjson.MAX_DEPTH + 1) + b"]" * (strictjson.MAX_DEPTH + 1)
    assert strictjson.read(deepest)
    with pytest.raises(strictjson.UnreadableJsonError, match="deeper"):
        strictjson.read(b"[" + deepest + b"]")


def test_values_are_counted() -> None:
    most = b"[" + b",".join([b"1"] * (strictjson.MAX_VALUES - 1)) + b"]"
    assert len(strictjson.read(most)) == strictjson.MAX_VALUES - 1
    with pytest.raises(strictjson.UnreadableJsonError, match="1,000,000 values"):
        strictjson.read(most[:-1] + b",{}]")
