"""How far apart two figures are that were measured on sets independent of each other."""

from __future__ import annotations

import math
from dataclasses import dataclass

from parley.engine.stats.intervals import Interval


@dataclass(frozen=True, slots=True)
class Around:
    """A figure and its interval."""

    value: float
    interval: Interval


def apart(before: Around, now: Around) -> Around:
    """By how much `now` is above `before`, with an interval from those of both.

    Each end takes the distance from either figure to the end of its interval that widens the difference,
    squared and added: for shares with Wilson's intervals this is Newcombe's interval.
    """
    value = now.value - before.value
    below = math.hypot(now.value - now.interval.low, before.interval.high - before.value)
    above = math.hypot(now.interval.high - now.value, before.value - before.interval.low)
    return Around(value, Interval(value - below, value + above, now.interval.level))
