"""The smallest difference that a sample could show, in a number and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

MIN_CASES = 6
"""With fewer changed pairs no assignment of signs is rare enough for a level of 0.05 on both sides."""
_DEVIATES = 1.6448536269514722 + 0.8416212335729143
"""Normal deviates of a one-sided level of 0.05 and of finding a fall in four of five times."""


@dataclass(frozen=True, slots=True)
class SmallestDifference:
    """The smallest fall of the mean rating that would be noticed in four of five times; None: not known."""

    value: float | None
    words: str


def from_pairs(differences: Sequence[Fraction]) -> SmallestDifference:
    """Judged by how much paired cases moved from one evaluation to the other."""
    return _told(differences, 1.0, "cases that move as these did")


def from_ratings(case_means: Sequence[Fraction]) -> SmallestDifference:
    """Judged by one evaluation alone: as if two evaluations of a case had nothing in common.

    That is the worst case, so paired cases show smaller differences than this.
    """
    return _told(case_means, math.sqrt(2), "cases like these")


def _told(values: Sequence[Fraction], factor: float, which: str) -> SmallestDifference:
    count = len(values)
    if count < MIN_CASES:
        told = "1 case is" if count == 1 else f"{count} cases are"
        return SmallestDifference(None, f"{told} too few to tell a real difference from chance.")
    spread = factor * _deviation(values)
    if spread == 0:
        return SmallestDifference(
            None,
            f"All {count} cases gave the same figure, so nothing tells how much chance alone moves them.",
        )
    value = _DEVIATES * spread / math.sqrt(count)
    if value >= 10:
        return SmallestDifference(None, f"{count} {which} could not show any fall of the mean reliably.")
    return SmallestDifference(
        value,
        f"With {count} {which}, a fall of the mean by {value:.2f} would be noticed in four of five times;"
        " a smaller one may well be missed.",
    )


def _deviation(values: Sequence[Fraction]) -> float:
    """The standard deviation of a sample of at least two, exactly 0 if all are equal."""
    if len(set(values)) == 1:
        return 0.0
    floats = [float(value) for value in values]
    mean = math.fsum(floats) / len(floats)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in floats) / (len(floats) - 1))
