"""How alike two texts are, by their words: Jaccard and ROUGE-L."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from fractions import Fraction

from parley.engine.checks.faults import CheckCouldNotRun

MAX_TOKENS = 20_000
"""Words of a text that is compared (product contract); a comparison of two such takes about 0.1 s."""
_WORD = re.compile(r"\w+")


def jaccard(one: str, other: str) -> Fraction:
    """Words that both have, as a share of words that either has: 0..1, 1 for two texts without words.

    Raises `CheckCouldNotRun` over MAX_TOKENS.
    """
    left, right = set(tokens(one)), set(tokens(other))
    return Fraction(len(left & right), len(left | right)) if left or right else Fraction(1)


def rouge_l(one: str, other: str) -> Fraction:
    """ROUGE-L: the longest common subsequence of words as F1 of both lengths: 0..1, as `jaccard` else."""
    left, right = tokens(one), tokens(other)
    if not left and not right:
        return Fraction(1)
    return Fraction(2 * longest_common(left, right), len(left) + len(right))


def tokens(text: str) -> list[str]:
    """The words of `text`, without regard to case and to how accents are encoded."""
    found = [word.group() for word in _WORD.finditer(unicodedata.normalize("NFKC", text).casefold())]
    if len(found) > MAX_TOKENS:
        raise CheckCouldNotRun(f"A text has more than {MAX_TOKENS:,} words.")
    return found


def longest_common(left: Sequence[str], right: Sequence[str]) -> int:
    """The length of the longest common subsequence.

    Each bit of one long integer stands for a word of `left`; every word of `right` costs four operations
    on it (Hyyrö's bit-parallel algorithm), instead of one step per pair of words.
    """
    full = (1 << len(left)) - 1
    places: dict[str, int] = {}
    for at, word in enumerate(left):
        places[word] = places.get(word, 0) | 1 << at
    open_ = full
    for word in right:
        matches = open_ & places.get(word, 0)
        if matches:
            open_ = ((open_ + matches) | (open_ - matches)) & full
    return len(left) - open_.bit_count()
