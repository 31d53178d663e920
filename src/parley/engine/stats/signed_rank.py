"""Wilcoxon's signed-rank test over paired differences, ties and all."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

MAX_COUNTED = 400
"""Changed pairs up to which the assignments of signs are counted; beyond it a cautious normal curve does."""
_MAX_WHOLE = 50
"""Changed pairs up to which the counts themselves, at most 2**50, fit a lane with room to spare."""
_LANE_BITS = 64
_ONE = 1 << 62
"""A chance of 1 where lanes hold chances instead of counts."""


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
    p_fell, p_rose = _tails(ranks, rose)
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


def _tails(ranks: Sequence[int], rose: int) -> tuple[float, float]:
    """The chances of positive ranks that sum to at most, and to at least, `rose`; never told too low."""
    step = math.gcd(*ranks)
    ranks, rose = sorted(rank // step for rank in ranks), rose // step
    fell = sum(ranks) - rose
    if len(ranks) > MAX_COUNTED:
        return _normal_tail(ranks, rose), _normal_tail(ranks, fell)
    counted = _counted_tail if len(ranks) <= _MAX_WHOLE else _rounded_tail
    # Ups and downs mirror each other, so that the shorter tail tells the longer one.
    near, short = counted(ranks, min(rose, fell))
    far = 1.0 - short
    return (near, far) if rose <= fell else (far, near)


def _counted_tail(ranks: Sequence[int], total: int) -> tuple[float, float]:
    """The shares of all assignments of signs whose positive ranks sum to at most `total`, and to less.

    The counts of all sums stand side by side in one long integer: adding a rank shifts and adds it.
    """
    counts = 1
    for rank in ranks:
        counts += counts << (_LANE_BITS * rank)
    lanes = _lanes(counts, total)
    return sum(lanes) / (1 << len(ranks)), sum(lanes[:-1]) / (1 << len(ranks))


def _rounded_tail(ranks: Sequence[int], total: int) -> tuple[float, float]:
    """The same where counts would outgrow their lanes: chances, halved with each rank.

    Each halving rounds a lane down by less than one unit, which the first of the two makes good.
    """
    # A lane's lowest bit must not fall into the lane below it.
    halves = int.from_bytes(((1 << _LANE_BITS - 1) - 1).to_bytes(8, "little") * (total + 1), "little")
    chances = _ONE
    for rank in ranks:
        half = chances >> 1 & halves
        chances = half + (half << (_LANE_BITS * rank) & halves)
    lanes = _lanes(chances, total)
    lost = len(ranks) * (total + 1)
    return (sum(lanes) + lost) / _ONE, sum(lanes[:-1]) / _ONE


def _lanes(standing: int, total: int) -> Sequence[int]:
    """The lanes of the sums 0 to `total`."""
    low = standing & ((1 << _LANE_BITS * (total + 1)) - 1)
    return memoryview(low.to_bytes(8 * (total + 1), sys.byteorder)).cast("Q").tolist()


def _normal_tail(ranks: Sequence[int], total: int) -> float:
    """The chance of `total` or less by the normal curve, with the variance that the ties leave.

    In doubled ranks the mean is half of their sum, and the variance a quarter of the sum of squares. Sums
    go in steps as high as the largest rank where nearly all tie: half of such a step is left as caution.
    """
    middle, spread = sum(ranks) / 2, math.sqrt(sum(rank * rank for rank in ranks)) / 2
    return min(1.0, math.erfc((middle - total - ranks[-1] / 2) / (spread * math.sqrt(2))) / 2)
