"""Intervals around a share and around a mean."""

from __future__ import annotations

import hashlib
import math
import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

LEVEL = 0.95
"""Confidence of every interval that is told."""
Z_95 = 1.959963984540054
"""The normal deviate that leaves 2.5% on each side."""
RESAMPLES = 2_000
"""Bootstrap samples: the ends of the interval wander by some hundredths of its width."""
_MAX_DRAWS = 1_000_000
"""Draws of one bootstrap, some tenths of a second; more than 500 cases get fewer resamples."""


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`, both included, with confidence `level`."""

    low: float
    high: float
    level: float = LEVEL


def wilson(passed: int, total: int) -> Interval | None:
    """The Wilson interval of a share of `passed` in `total`, within 0..1; None without any.

    Raises ValueError unless 0 <= passed <= total.
    """
    if not 0 <= passed <= total:
        raise ValueError("passed must lie between 0 and total")
    if total == 0:
        return None
    share, square = passed / total, Z_95 * Z_95
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = Z_95 * math.sqrt(share * (1 - share) / total + square / (4 * total * total)) / (1 + square / total)
    # Rounding may leave a share of 0 or 1 just outside of its own interval.
    low = 0.0 if passed == 0 else max(0.0, middle - half)
    return Interval(low, 1.0 if passed == total else min(1.0, middle + half))


def bootstrap_mean(values: Sequence[Fraction], seed: str) -> Interval | None:
    """The percentile interval of the mean of `values`, None for fewer than two.

    The same values and seed give the same interval on every machine. Paired cases are resampled by
    handing over their differences.
    """
    count = len(values)
    if count < 2:
        return None
    floats = [float(value) for value in values]
    resamples = max(200, min(RESAMPLES, _MAX_DRAWS // count))
    draws = _draws(seed, count, resamples)
    pick = floats.__getitem__
    means = sorted(
        math.fsum(map(pick, draws[at : at + count])) / count for at in range(0, count * resamples, count)
    )
    tail = (1 - LEVEL) / 2
    return Interval(means[math.floor(tail * resamples)], means[math.ceil((1 - tail) * resamples) - 1])


def _draws(seed: str, count: int, resamples: int) -> list[int]:
    """`count * resamples` numbers below `count`, drawn from `seed`."""
    stream = hashlib.shake_128(f"bootstrap/{count}/{seed}".encode()).digest(4 * count * resamples)
    words = array("I", stream)
    if sys.byteorder == "big":
        words.byteswap()
    return [(word * count) >> 32 for word in words]
