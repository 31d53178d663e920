from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.engine.checks.faults import CheckCouldNotRun
from parley.engine.checks.similarity import MAX_TOKENS, jaccard, longest_common, rouge_l, tokens

WORDS = st.lists(st.sampled_from("abcd"), max_size=9)


def by_definition(left: tuple[str, ...], right: tuple[str, ...]) -> int:
    @cache
    def longest(i: int, j: int) -> int:
        if i == len(left) or j == len(right):
            return 0
        if left[i] == right[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    return longest(0, 0)


@given(WORDS, WORDS)
def test_longest_common_subsequence_is_the_one_of_the_definition(left: list[str], right: list[str]) -> None:
    assert longest_common(left, right) == by_definition(tuple(left), tuple(right))


@given(WORDS, WORDS)
def test_likeness_is_symmetric_and_within_its_bounds(left: list[str], right: list[str]) -> None:
    one, other = " ".join(left), " ".join(right)
    for measure in (jaccard, rouge_l):
        assert measure(one, other) == measure(other, one)
        assert 0 <= measure(one, other) <= 1
        assert measure(one, one) == 1


def test_figures_of_a_known_pair() -> None:
    assert jaccard("the cat sat", "the cat ran fast") == Fraction(2, 5)
    assert rouge_l("the cat sat", "the cat ran fast") == Fraction(4, 7)


def test_case_marks_and_encodings_do_not_count() -> None:
    assert tokens("Caf\u00e9, NAI\u0308VE!") == tokens("cafe\u0301 na\u00efve")


def test_texts_without_words() -> None:
    assert jaccard("", "...") == rouge_l("", "!") == 1
    assert jaccard("", "a") == rouge_l("a", "") == 0


def test_most_words_are_compared_and_one_more_is_not() -> None:
    text = "a b " * (MAX_TOKENS // 2)
    assert rouge_l(text, text) == 1
    with pytest.raises(CheckCouldNotRun, match="20,000"):
        rouge_l(text + "c", text)
