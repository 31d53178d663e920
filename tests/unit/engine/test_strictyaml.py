from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.engine.strictyaml import YamlUnreadable, read, write

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff"), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


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
        ("a: !!python/object:os.system x\n", (1, 4), "could not determine a constructor"),
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
