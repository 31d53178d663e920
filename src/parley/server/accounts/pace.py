"""How many requests one key may send to this process: a bucket that fills evenly."""

from __future__ import annotations

from uuid import UUID

from parley.engine.ports import Clock
from parley.server.errors import RequestsLimited

_MOST_BUCKETS = 50_000
"""Buckets kept; full ones are forgotten beyond that."""


class Pace:
    """Buckets by key. Each process counts for itself; the quota of runs is counted elsewhere, exactly."""

    def __init__(self, requests_per_minute: int, clock: Clock) -> None:
        """0 requests per minute switches it off. Bursts of a tenth of a minute's requests pass."""
        self._per_second = requests_per_minute / 60
        self._burst = max(1.0, requests_per_minute / 10)
        self._clock = clock
        self._buckets: dict[UUID, tuple[float, float]] = {}

    def spend(self, key_id: UUID) -> None:
        """Count one request of this key. Raises `RequestsLimited`."""
        if not self._per_second:
            return
        now = self._clock.monotonic_s()
        tokens, at = self._buckets.get(key_id, (self._burst, now))
        tokens = min(self._burst, tokens + (now - at) * self._per_second)
        if tokens < 1:
            raise RequestsLimited(retry_after_s=int((1 - tokens) / self._per_second) + 1)
        self._buckets[key_id] = (tokens - 1, now)
        if len(self._buckets) > _MOST_BUCKETS:
            self._forget_full(now)

    def _forget_full(self, now: float) -> None:
        self._buckets = {
            key_id: (tokens, at)
            for key_id, (tokens, at) in self._buckets.items()
            if tokens + (now - at) * self._per_second < self._burst
        }
