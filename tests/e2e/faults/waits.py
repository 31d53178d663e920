"""How long runs went without a new entry, and how much of that time nothing was broken that holds runs up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import asyncpg

from tests.e2e.faults.logs import Strike

_HOLDS_UP: Final = ("postgres", "kill", "stop", "freeze", "outsleep")
"""Faults that entries wait for. Those of Redis and of the clients are none: the sweep works without."""

_GAPS = """
SELECT run_id::text, extract(epoch FROM before)::float8, extract(epoch FROM created_at)::float8
  FROM (SELECT run_id, created_at, lag(created_at) OVER (PARTITION BY run_id ORDER BY seq) AS before
          FROM entries) AS pairs
 WHERE before IS NOT NULL ORDER BY created_at - before DESC LIMIT 200
"""


@dataclass(frozen=True, slots=True)
class Wait:
    """A run without a new entry, from one to the next; seconds since 1970."""

    run: str
    since: float
    until: float

    @property
    def whole_s(self) -> float:
        """All of it."""
        return self.until - self.since

    def undisturbed_s(self, strikes: Iterable[Strike]) -> float:
        """The part of it in which no fault that holds runs up was under way, restarts included."""
        left, at = 0.0, self.since
        for strike in sorted(_that_hold_up(strikes), key=lambda one: one.began_at):
            left += max(0.0, min(strike.began_at, self.until) - at)
            at = min(self.until, max(at, strike.ended_at))
        return left + max(0.0, self.until - at)

    def met(self, strikes: Iterable[Strike]) -> list[str]:
        """The faults that held it up, in the order in which they began."""
        return [s.kind for s in _that_hold_up(strikes) if s.began_at < self.until and s.ended_at > self.since]


def _that_hold_up(strikes: Iterable[Strike]) -> list[Strike]:
    return [strike for strike in strikes if strike.kind.startswith(_HOLDS_UP)]


async def longest_waits(connection: asyncpg.Connection[asyncpg.Record]) -> Sequence[Wait]:
    """The longest waits of all runs, longest first."""
    return [Wait(*row) for row in await connection.fetch(_GAPS)]
