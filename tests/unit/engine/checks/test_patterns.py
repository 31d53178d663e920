from __future__ import annotations

import subprocess
import sys

import pytest

from parley.engine.checks.faults import CheckCouldNotRun, PatternRefused
from parley.engine.checks.patterns import MAX_PATTERN_CHARS, MAX_TEXT_CHARS, read_pattern


@pytest.mark.parametrize(
    ("source", "text", "found"),
    [
        ("refund", "Your refund is on its way.", True),
        ("^refund", "Your refund", False),
        (r"\d{3}-\d{4}", "Call 555-0199.", True),
        ("Refund", "refund", False),
        ("(?i)Refund", "refund", True),
        ("naïve café", "a naïve café", True),
        ("^a.c$", "a😀c", True),
        ("a.c", "a\nc", False),
        ("(?s)a.c", "a\nc", True),
    ],
)
def test_pattern_is_looked_for_anywhere_in_the_text(source: str, text: str, found: bool) -> None:
    assert read_pattern(source).found_in(text) is found


def test_case_is_ignored_when_asked() -> None:
    assert read_pattern("REFUND", ignore_case=True).found_in("refund")


def test_pattern_that_holds_re_up_for_ever_is_done_at_once() -> None:
    assert not read_pattern("^(a+)+$").found_in("a" * 50_000 + "!")


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"], ids=["nul", "half a surrogate pair"])
def test_text_that_is_no_unicode_is_searched_all_the_same(text: str) -> None:
    assert read_pattern("^a.b$").found_in(text)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("", "must not be empty"),
        ("(", "missing )"),
        ("(?=a)", "(?="),
        (r"(a)\1", r"\1"),
        ("(" + "|".join(f"a{{{n}}}" for n in range(800, 999)) + ")", "too large"),
        ("a" * (MAX_PATTERN_CHARS + 1), "at most 2,000"),
    ],
    ids=["empty", "open", "look-ahead", "backreference", "large when compiled", "long"],
)
def test_pattern_that_cannot_be_run_is_refused_with_its_reason(source: str, words: str) -> None:
    with pytest.raises(PatternRefused) as refused:
        read_pattern(source)
    assert words in refused.value.problem


def test_longest_text_is_searched_and_one_more_character_is_not() -> None:
    pattern = read_pattern("b$")
    assert pattern.found_in("a" * (MAX_TEXT_CHARS - 1) + "b")
    with pytest.raises(CheckCouldNotRun, match="200,000"):
        pattern.found_in("a" * MAX_TEXT_CHARS + "b")


def test_equal_patterns_are_equal() -> None:
    assert read_pattern("a") == read_pattern("a") != read_pattern("a", ignore_case=True)


def test_importing_the_checks_loads_neither_library() -> None:
    lines = "import sys, parley.engine.checks.patterns, parley.engine.checks.schema;"
    lines += "print(sorted({'re2', 'jsonschema', 'referencing'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
