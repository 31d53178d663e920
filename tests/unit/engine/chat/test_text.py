"""Cleaning of text at the edges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.engine.text import clean, ends_in_half

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("dirty", "cleaned"),
    [
        ("", ""),
        ("plain", "plain"),
        ("a\x00b", "a\ufffdb"),
        ("é\x00ü", "é\ufffdü"),
        ("a\ud83d", "a\ufffd"),
        ("\ude00a", "\ufffda"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ud83d\x00\ude00", "\ufffd\ufffd\ufffd"),
        ("line\n\u2028\u0085\U0001f600", "line\n\u2028\u0085\U0001f600"),
    ],
)
def test_what_cannot_be_stored_is_replaced_visibly(dirty: str, cleaned: str) -> None:
    assert clean(dirty) == cleaned


@given(ANY_TEXT)
def test_cleaned_text_can_be_stored_and_is_stable(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert "\x00" not in cleaned
    assert clean(cleaned) == cleaned


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", False),
        ("a", False),
        ("\ud7ff", False),
        ("\ud800", True),
        ("a\udbff", True),
        ("\udc00", False),
        ("\ud83da", False),
    ],
)
def test_only_a_first_half_at_the_end_waits(text: str, expected: bool) -> None:
    assert ends_in_half(text) is expected
