"""Wilcoxon's signed-rank test over paired differences, ties and all."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

MAX_EXACT = 50
"""Changed pairs up to which every assignment of signs is counted; beyond it the normal curve is as good."""
_LANE_BITS = 64
"""Room for one count; there are at most 2**50 assignments."""


@dataclass(frozen=True, slots=True)
class SignedRank:
    """What the test says of `changed` pairs that differ; pairs that do not are left out, as Wilcoxon did.

    `p_fell` is the chance of ranks at least this low if ups and downs were alike, `p_rose` of ranks at
    least this high, `p_either` the two-sided one. All are 1 without a changed pair.
    """

    changed: int
    p_fell: float
    p_rose: float
    p_either: float


def signed_rank(differences: Sequence[Fraction]) -> SignedRank:
    """The test of `differences` (now minus before). Exact up to MAX_EXACT changed pairs, also with ties."""
    changed = [difference for difference in differences if difference]
    if not changed:
        return SignedRank(0, 1.0, 1.0, 1.0)
    ranks = _doubled_ranks([abs(difference) for difference in changed])
    rose = sum(rank for rank, difference in zip(ranks, changed, strict=True) if difference > 0)
    tail = _exact_tail if len(ranks) <= MAX_EXACT else _normal_tail
    p_fell, p_rose = tail(ranks, rose), tail(ranks, sum(ranks) - rose)
    return SignedRank(len(changed), p_fell, p_rose, min(1.0, 2 * min(p_fell, p_rose)))


def _doubled_ranks(sizes: Sequence[Fraction]) -> list[int]:
    """Twice the rank of each size, so that the middle of a tie is whole."""
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    ranks = [0] * len(sizes)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and sizes[order[end]] == sizes[order[start]]:
            end += 1
        for place in order[start:end]:
            ranks[place] = start + end + 1
        start = end
    return ranks


def _exact_tail(ranks: Sequence[int], total: int) -> float:
    """The share of all assignments of signs whose positive ranks sum to `total` or less.

    The counts of all sums stand side by side in one long integer: adding a rank shifts and adds it.
    """
    counts = 1
    for rank in ranks:
        counts += counts << (_LANE_BITS * rank)
    low = counts & ((1 << _LANE_BITS * (total + 1)) - 1)
    lanes = memoryview(low.to_bytes(8 * (total + 1), sys.byteorder)).cast("Q")
    return sum(lanes) / (1 << len(ranks))


def _normal_tail(ranks: Sequence[int], total: int) -> float:
    """The same by the normal curve, with the variance that the ties leave and half a rank of caution.

    In doubled ranks the mean is half of their sum, and the variance a quarter of the sum of squares.
    """
    middle, spread = sum(ranks) / 2, math.sqrt(sum(rank * rank for rank in ranks)) / 2
    return min(1.0, math.erfc((middle - total - 1) / (spread * math.sqrt(2))) / 2)
