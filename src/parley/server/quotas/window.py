"""The window policy: how many starts count now, and when the next one may come. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

WINDOW: Final = timedelta(seconds=60)
"""Runs per minute count over any 60 seconds (product contract)."""
_TICK: Final = timedelta(microseconds=1)
"""The grain of the database's clock: a unit counts to the end of its window, its last tick included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaStanding:
    """Where an account stands in its window at `now`. Without a limit everything is allowed."""

    limit: int | None
    used: int
    now: datetime
    frees_at: datetime | None
    """When one more start is free than now; None while nothing is spent."""

    @property
    def remaining(self) -> int | None:
        """Starts that are free now; None without a limit."""
        return None if self.limit is None else max(0, self.limit - self.used)

    @property
    def has_room(self) -> bool:
        """Whether one more start fits."""
        return self.limit is None or self.used < self.limit

    @property
    def reset_s(self) -> int:
        """Whole seconds, rounded up, until one more start is free than now; 0 while nothing is spent."""
        if self.frees_at is None or self.frees_at <= self.now:
            return 0
        return -((self.now - self.frees_at) // timedelta(seconds=1))

    def spent(self) -> QuotaStanding:
        """The standing after one more start at `now`."""
        frees_at = self.frees_at or self.now + WINDOW + _TICK
        return replace(self, used=self.used + 1, frees_at=frees_at)

    def headers(self) -> dict[str, str]:
        """The rate-limit headers of an answer to a start; none without a limit."""
        if self.limit is None:
            return {}
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Reset": str(self.reset_s),
        }


def standing(spent_at: Sequence[datetime], now: datetime, limit: int | None) -> QuotaStanding:
    """Where an account stands that has spent units at these times.

    A unit counts for 60 s, both ends included, so no span of that length ever holds more than the
    limit. Units from the future (a clock that was set back) count too.
    """
    counted = sorted(at for at in spent_at if now - at <= WINDOW)
    leaving = 0 if limit is None else max(0, len(counted) - limit)
    frees_at = counted[leaving] + WINDOW + _TICK if leaving < len(counted) else None
    return QuotaStanding(limit=limit, used=len(counted), now=now, frees_at=frees_at)
