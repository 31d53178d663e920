from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from parley.engine.strictyaml import YamlUnreadable, read, write

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff"), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@example(content="\x85")
@example(content={"a\u2028b": "a\x85\nb", "c": ["\u2029"]})
@given(content=JSON)
def test_what_is_written_is_read_back(content: object) -> None:
    assert read(write(content)) == content


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("a: &x [1]\nb: *x\n", (2, 4), "aliases are not taken"),
        ("a: 1\nb: 2\na: 3\n", (3, 1), "a is given twice"),
        ("1: x\n", (1, 1), "a key has to be text"),
        ("a: [1\n", (2, 1), "expected"),
        ("a: !!python/object:os.system x\n", (1, 4), "tags are not taken"),
        ("a: !!bool maybe\n", (1, 4), "tags are not taken"),
        ("a: !!binary aGk=\n", (1, 4), "tags are not taken"),
        ("!!set {a, b}\n", (1, 1), "tags are not taken"),
        ("- 1e400\n", (1, 3), "too large"),
        ('a: "\\ud83d"\n', (1, 4), "half a character"),
        ('a: "\\UFFFFFFFF"\n', (None, None), "too large"),
        ("a: 1\n---\nb: 2\n", (2, 1), "another document"),
        ("a: \x00", (None, None), "not allowed"),
        ("[" * 5_000, (None, None), "nested too deeply"),
    ],
)
def test_what_surprises_is_refused_with_its_place(
    text: str, place: tuple[int | None, int | None], problem: str
) -> None:
    with pytest.raises(YamlUnreadable, match=problem) as refused:
        read(text)
    assert (refused.value.line, refused.value.column) == place


def test_dates_and_answers_stay_the_text_they_are() -> None:
    text = "a: 2026-11-30\nb: 2026-11-30T10:00:00Z\nyes: no\non: off\n"
    assert read(text) == {"a": "2026-11-30", "b": "2026-11-30T10:00:00Z", "yes": "no", "on": "off"}
    assert read("[true, False]") == [True, False]


def test_words_that_json_does_not_know_stay_the_text_they_are() -> None:
    words = ["12:30", "010", "0x1F", "1_000", "+1", ".5", "5.", ".inf", "-.inf", ".nan", "=", "<<"]
    assert read("".join(f"- {word}\n" for word in words)) == words
    assert [read(write(word)) for word in words] == words


def test_json_means_the_same_here() -> None:
    text = '{"a": [1, -2, 0.5, -1e3, 2E+2, 1.5e-2, null, true], "b": "\\ud83d\\ude00", "1e5": "1e5"}'
    assert read(text) == json.loads(text)
    assert read(write(read(text))) == json.loads(text)


def test_keys_and_values_are_counted_where_the_reader_says_so() -> None:
    text = "a: 1\nb: [2, 3]\n"
    assert read(text, most_values=7) == {"a": 1, "b": [2, 3]}
    with pytest.raises(YamlUnreadable, match="too many keys and values") as refused:
        read(text, most_values=6)
    assert (refused.value.line, refused.value.column) == (2, 8)
