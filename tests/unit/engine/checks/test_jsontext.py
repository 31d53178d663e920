from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.engine.checks.jsontext import MAX_CHARS, JsonUnreadable, read_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(), part, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_what_was_written_is_read(value: object) -> None:
    assert read_json(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("{'a': 1}", "not JSON"),
        ('{"a": 1} and more', "Extra data"),
        ("NaN", "not finite"),
        ("-Infinity", "not finite"),
        ("[1e999]", "not finite"),
        ("9" * 5_000, "too many digits"),
        ('{"a": 1, "a": 2}', "one key twice"),
        ("[" * 100_000, "nested"),
        (" " * MAX_CHARS + "1", "longer than"),
    ],
)
def test_text_that_two_readers_could_take_differently_is_refused(text: str, words: str) -> None:
    with pytest.raises(JsonUnreadable) as refused:
        read_json(text)
    assert words in refused.value.problem
