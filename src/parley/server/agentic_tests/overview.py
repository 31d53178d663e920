"""How the account's tests stand: what broke, what recovered, what runs now, what is due next.

Only tests with an end in the last days are looked at, and of those a bounded number, so that the cost
does not grow with the account's history. Runs of suites belong to their evaluations and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Final, Literal, TypeAlias
from uuid import UUID

from sqlalchemy import text

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session

LOOKED_AT: Final = 500
"""The newest ends of each state whose tests are looked at."""
SHOWN: Final = 20
"""Lines of each list."""

Change: TypeAlias = Literal["broke", "failing", "recovered", "passing"]
"""How a test's last two ends stand to each other."""

# Each branch reads one stretch of the index of ends.
_LAST_TWO = text("""
WITH recent AS (
    (SELECT test_id FROM runs WHERE account_id = :account_id AND state = 'succeeded' AND trigger <> 'suite'
        AND finished_at > now() - make_interval(days => :days) ORDER BY finished_at DESC LIMIT :most)
    UNION
    (SELECT test_id FROM runs WHERE account_id = :account_id AND state = 'failed' AND trigger <> 'suite'
        AND finished_at > now() - make_interval(days => :days) ORDER BY finished_at DESC LIMIT :most)
)
SELECT tests.id AS test_id, tests.name, last.id AS run_id, last.outcome, last.finished_at
  FROM recent JOIN agentic_tests AS tests
    ON tests.account_id = :account_id AND tests.id = recent.test_id AND tests.deleted_at IS NULL
 CROSS JOIN LATERAL (
       SELECT id, outcome, finished_at FROM runs
        WHERE runs.account_id = :account_id AND runs.test_id = tests.id
          AND state IN ('succeeded', 'failed') AND trigger <> 'suite'
        ORDER BY id DESC LIMIT 2
       ) AS last
 ORDER BY tests.id, last.id DESC
""")

_OPEN = text("""
SELECT runs.id AS run_id, runs.test_id, tests.name
  FROM runs JOIN agentic_tests AS tests
    ON tests.account_id = runs.account_id AND tests.id = runs.test_id AND tests.deleted_at IS NULL
 WHERE runs.account_id = :account_id AND runs.state IN ('pending', 'running')
 ORDER BY runs.id DESC LIMIT :most
""")

_UPCOMING = text("""
SELECT id AS test_id, name, next_run_at FROM agentic_tests
 WHERE account_id = :account_id AND next_run_at IS NOT NULL ORDER BY next_run_at, id LIMIT :most
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a run of a test has ended. `outcome` is None for one that could not be carried out."""

    test_id: UUID
    name: str
    run_id: UUID
    outcome: str | None
    finished_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """A test, its last end, and how that compares with the one before."""

    change: Change
    last: End


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """A run that has not ended."""

    run_id: UUID
    test_id: UUID
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DueNext:
    """A test's next scheduled start."""

    test_id: UUID
    name: str
    next_run_at: datetime


def change_of(outcome: str | None, before: End | None) -> Change:
    """How a test stands whose last run ended with `outcome`, after `before`.

    A first end that is no success broke nothing, but the test fails since: it counts as broke, so that it
    is seen.
    """
    was_good = before is None or before.outcome == "success"
    if outcome == "success":
        return "passing" if was_good else "recovered"
    return "broke" if was_good else "failing"


def health_of(ends: Iterable[End]) -> list[Health]:
    """Where each test stands, the last to end first. `ends`: up to two of a test, together, newest first."""
    found = []
    for _, group in groupby(ends, lambda end: end.test_id):
        last, *before = group
        change = change_of(last.outcome, before[0] if before else None)
        found.append(Health(change=change, last=last))
    return sorted(found, key=lambda one: one.last.finished_at, reverse=True)


async def read_health(session: Session, scope: AccountScope, days: int) -> list[Health]:
    """Where the tests stand that had an end in the last `days`, the last to end first."""
    values = {"account_id": scope.account_id, "days": days, "most": LOOKED_AT}
    rows = await session.execute(_LAST_TWO, values)
    return health_of(
        End(
            test_id=row.test_id,
            name=row.name,
            run_id=row.run_id,
            outcome=row.outcome,
            finished_at=row.finished_at,
        )
        for row in rows
    )


async def read_open(session: Session, scope: AccountScope) -> Sequence[OpenRun]:
    """The newest runs that have not ended."""
    rows = await session.execute(_OPEN, {"account_id": scope.account_id, "most": SHOWN})
    return [OpenRun(run_id=row.run_id, test_id=row.test_id, name=row.name) for row in rows]


async def read_upcoming(session: Session, scope: AccountScope) -> Sequence[DueNext]:
    """The next scheduled starts, one for each test; what is overdue comes first."""
    rows = await session.execute(_UPCOMING, {"account_id": scope.account_id, "most": SHOWN})
    return [DueNext(test_id=row.test_id, name=row.name, next_run_at=row.next_run_at) for row in rows]
