"""Whatever is sent is either refused as a body, or stored and read back: nothing else can happen."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from parley.server.definitions.body import read_json
from parley.server.definitions.faults import DefinitionRefused, Fault
from parley.server.definitions.read import read_change, read_definition, read_direct
from parley.server.definitions.schemas import NAMES_BELOW, Definition, Evaluated, stored
from parley.server.kit.text import is_storable

NAMES = [*Definition.model_fields, *(name for names in NAMES_BELOW.values() for name in names), "role"]
WORDS = [
    "user",
    "assistant",
    "tool",
    "text",
    "Text",
    "RemoteResource",
    "function",
    "before-test",
    "@a/b",
    "x",
]
LEAST: dict[str, Any] = {"name": "Refund", "gateway": "shop:1a2b", "goal": "Get a refund"}

texts = st.one_of(st.sampled_from(WORDS), st.text(st.characters(exclude_categories=()), max_size=5))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.one_of(st.sampled_from(NAMES), texts), below, max_size=4)
    ),
    max_leaves=12,
)
bodies = st.dictionaries(st.sampled_from(NAMES), values, max_size=6)


def change(body: object) -> Definition:
    return read_change(body, stored(read_definition(LEAST)))


def outcome(read: Callable[[object], Evaluated], raw: bytes) -> tuple[Evaluated | None, tuple[Fault, ...]]:
    try:
        return read(read_json(raw)), ()
    except DefinitionRefused as refused:
        return None, refused.faults


@settings(max_examples=300, deadline=None)
@given(sent=bodies | values, on_top=st.booleans())
def test_any_json_is_refused_with_faults_or_stored_as_it_was_read(sent: Any, on_top: bool) -> None:
    raw = json.dumps(LEAST | sent if on_top and isinstance(sent, dict) else sent).encode()
    for read in (read_definition, read_direct, change):
        definition, faults = outcome(read, raw)
        if definition is None:
            assert faults
            assert all(fault.problem and is_storable(fault.field + fault.problem) for fault in faults)
        else:
            text = json.dumps(stored(definition), allow_nan=False, ensure_ascii=False)
            again = type(definition).model_validate(json.loads(text.encode()))
            assert stored(again) == stored(definition)


@settings(max_examples=200, deadline=None)
@given(raw=st.binary(max_size=60))
def test_any_short_bytes_are_refused(raw: bytes) -> None:
    _, faults = outcome(read_definition, raw)
    assert faults
