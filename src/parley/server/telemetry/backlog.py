"""What waits in the database, over all processes: read at a scrape, in bounded statements, kept for seconds.

Every process tells the same, so rules and panels take the maximum, never the sum.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import asyncpg
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from redis.asyncio import Redis

from parley.server.db.database import Database
from parley.server.errors import DatabaseAway
from parley.server.telemetry.readiness import queue_state

KEPT_S: Final = 5.0
"""Scrapes within this time share one look, so that no number of scrapers is a load."""
WAIT_S: Final = 2.0
"""Bound of one look; a scrape that comes too late is lost."""
MOST_ROWS: Final = 10_000
"""Rows counted of a kind; this number means "at least"."""
MOST_ACCOUNTS: Final = 1_000
"""Accounts whose oldest waiting run is looked at."""

_log = logging.getLogger(__name__)

# One look into ix_runs_waiting for each account: as many rows as there are accounts that wait.
_WAITING: Final = """
WITH RECURSIVE heads AS (
    (SELECT account_id, created_at FROM runs WHERE state = 'pending' AND admitted_at IS NULL
      ORDER BY account_id, id LIMIT 1)
    UNION ALL
    SELECT next.account_id, next.created_at
      FROM heads, LATERAL (
          SELECT account_id, created_at FROM runs
           WHERE state = 'pending' AND admitted_at IS NULL AND account_id > heads.account_id
           ORDER BY account_id, id LIMIT 1
      ) AS next
)
SELECT (SELECT count(*) FROM (
           SELECT FROM runs WHERE state = 'pending' AND admitted_at IS NULL LIMIT $1
       ) AS counted)::float8 AS waiting,
       extract(epoch FROM now() - min(created_at))::float8 AS oldest_s
  FROM (SELECT created_at FROM heads LIMIT $2) AS oldest
"""

_SLOTS: Final = """
SELECT count(*) FILTER (WHERE state = 'pending')::float8 AS admitted,
       count(*) FILTER (WHERE state = 'running')::float8 AS running,
       count(*) FILTER (WHERE state = 'running' AND (lease_until IS NULL OR lease_until < now()))::float8
           AS unheld,
       extract(epoch FROM now() - min(admitted_at) FILTER (WHERE state = 'pending'))::float8 AS queue_age_s,
       extract(epoch FROM max(admitted_at - created_at))::float8 AS admission_wait_s
  FROM (
      SELECT state, created_at, admitted_at, lease_until FROM runs
       WHERE state IN ('pending', 'running') AND admitted_at IS NOT NULL LIMIT $1
  ) AS counted
"""

_OTHERS: Final = """
SELECT (SELECT count(*)::float8
          FROM (SELECT FROM direct_calls WHERE state = 'running' LIMIT $1) AS counted) AS direct,
       (SELECT extract(epoch FROM now() - min(due_at))::float8
          FROM (SELECT due_at FROM outbox LIMIT $1) AS counted) AS outbox_s,
       (SELECT extract(epoch FROM now() - min(next_attempt_at))::float8
          FROM deliveries WHERE state = 'pending') AS deliveries_s,
       (SELECT extract(epoch FROM now() - min(looked_at_from))::float8
          FROM agentic_tests WHERE looked_at_from IS NOT NULL) AS schedules_s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """One look. Without the database all numbers are missing."""

    has_database: bool
    has_redis: bool
    numbers: Mapping[str, float | None]

    def number(self, name: str) -> float:
        """A count, or an age that is never negative; nothing waiting is 0."""
        return max(0.0, self.numbers.get(name) or 0.0)


class BacklogReader(Collector):
    """Looks, keeps what it saw for `KEPT_S`, and gives it to a registry."""

    def __init__(self, database: Database, redis: Redis, prefix: str) -> None:
        self._database = database
        self._redis = redis
        self._prefix = prefix
        self._seen: Backlog | None = None
        self._seen_at = -KEPT_S
        self._looking = asyncio.Lock()

    async def refresh(self) -> None:
        """Look again unless the last look is fresh. Never raises for a store that is away."""
        async with self._looking:
            if time.monotonic() - self._seen_at < KEPT_S:
                return
            redis, numbers = await asyncio.gather(
                queue_state(self._redis, self._prefix, WAIT_S), self._numbers()
            )
            self._seen = Backlog(
                has_database=numbers is not None, has_redis=redis == "ready", numbers=numbers or {}
            )
            self._seen_at = time.monotonic()

    async def _numbers(self) -> dict[str, float | None] | None:
        try:
            async with asyncio.timeout(WAIT_S), self._database.raw() as connection:
                waiting = await connection.fetchrow(_WAITING, MOST_ROWS, MOST_ACCOUNTS)
                slots = await connection.fetchrow(_SLOTS, MOST_ROWS)
                others = await connection.fetchrow(_OTHERS, MOST_ROWS)
        except (DatabaseAway, TimeoutError):
            return None
        except asyncpg.PostgresError as fault:
            _log.warning("the backlog cannot be read: %s", fault)
            return None
        return {**_row(waiting), **_row(slots), **_row(others)}

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """What the last look saw, as a registry takes it."""
        seen = self._seen or Backlog(has_database=False, has_redis=False, numbers={})
        yield _one("parley_database_up", "Whether the database answered the last look.", seen.has_database)
        yield _one("parley_redis_up", "Whether Redis took and gave back a value.", seen.has_redis)
        runs = GaugeMetricFamily("parley_runs_open", "Runs that have not ended, by state.", labels=["state"])
        for state in ("waiting", "admitted", "running", "unheld"):
            if seen.has_database:
                runs.add_metric([state], seen.number(state))
        yield runs
        for name, (text, number) in _GAUGES.items():
            yield _one(name, text, seen.number(number) if seen.has_database else None)


_GAUGES: Final = {
    "parley_waiting_run_age_seconds": ("Age of the oldest run without a slot.", "oldest_s"),
    "parley_queue_age_seconds": ("How long the longest admitted run waits for a worker.", "queue_age_s"),
    "parley_admission_wait_seconds": (
        "Longest wait for a slot among the runs that hold one now.",
        "admission_wait_s",
    ),
    "parley_direct_evaluations_open": ("Direct evaluations that hold a slot.", "direct"),
    "parley_outbox_age_seconds": ("How long the oldest end of a run waits for its reaction.", "outbox_s"),
    "parley_delivery_age_seconds": ("How long the oldest notification is due.", "deliveries_s"),
    "parley_schedule_lag_seconds": ("How long the oldest scheduled test is due.", "schedules_s"),
}


def _one(name: str, text: str, value: float | bool | None) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=None if value is None else float(value))


def _row(record: Any) -> dict[str, float | None]:
    return dict(record)
