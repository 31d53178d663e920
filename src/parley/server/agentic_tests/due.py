"""SQL of tests that are due: found and held by one scheduler, then settled or put off.

Every statement reads the database's clock. A test that is held is skipped by every other scheduler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Text, bindparam, text

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session

# In an order of chance: schedulers at work at once take different accounts, and none is always last.
_ACCOUNTS = text("""
SELECT account_id FROM agentic_tests WHERE looked_at_from <= now()
 GROUP BY account_id ORDER BY random() LIMIT :limit
""")

# The weakest lock that keeps others out, so that runs of a held test can be stored meanwhile.
_HOLD_DUE = text("""
SELECT tests.id, tests.cron, tests.next_run_at, now() AS now, last.state, last.scheduled_for
  FROM agentic_tests AS tests
  LEFT JOIN LATERAL (
           SELECT state, scheduled_for FROM runs
            WHERE runs.account_id = tests.account_id AND runs.test_id = tests.id
              AND runs.scheduled_for IS NOT NULL
            ORDER BY runs.scheduled_for DESC LIMIT 1
       ) AS last ON true
 WHERE tests.account_id = :account_id AND tests.looked_at_from <= now()
 ORDER BY tests.looked_at_from LIMIT :limit
   FOR NO KEY UPDATE OF tests SKIP LOCKED
""")

_SETTLE = text("""
UPDATE agentic_tests SET next_run_at = :next_run_at, looked_at_from = :next_run_at,
       last_skip_due_at = CASE WHEN :reason IS NULL THEN last_skip_due_at ELSE next_run_at END,
       last_skip_reason = coalesce(:reason, last_skip_reason)
 WHERE account_id = :account_id AND id = :id
""").bindparams(bindparam("reason", type_=Text))

_PUT_OFF = text("""
UPDATE agentic_tests SET looked_at_from = now() + make_interval(secs => :seconds)
 WHERE account_id = :account_id AND id IN (
       SELECT id FROM agentic_tests WHERE account_id = :account_id AND looked_at_from <= now()
        LIMIT :limit FOR NO KEY UPDATE SKIP LOCKED)
""")
_MOST_PUT_OFF = 1_000
"""Tests put off by one statement; what is left is met, and put off, in the same pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueTest:
    """A test whose time has come, held to the end of the transaction."""

    id: UUID
    cron: str
    due_at: datetime
    now: datetime
    """The start of the transaction."""
    last_run_state: str | None
    """Of its last scheduled run; None if there is none."""
    last_run_due_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What became of a due test. Its due time had a run, unless there is a `reason` against it."""

    test_id: UUID
    next_run_at: datetime | None
    """None: never again, until its schedule is saved anew."""
    reason: str | None = None


async def accounts_with_due_tests(session: Session, limit: int) -> Sequence[UUID]:
    """Up to `limit` accounts that have tests to look at, in an order of chance."""
    rows = await session.execute(_ACCOUNTS, {"limit": limit})
    return [row.account_id for row in rows]


async def hold_due(session: Session, scope: AccountScope, limit: int) -> Sequence[DueTest]:
    """Up to `limit` due tests of the account that no other scheduler holds, the longest due first."""
    rows = await session.execute(_HOLD_DUE, {"account_id": scope.account_id, "limit": limit})
    return [
        DueTest(
            id=row.id,
            cron=row.cron or "",
            due_at=row.next_run_at,
            now=row.now,
            last_run_state=row.state,
            last_run_due_at=row.scheduled_for,
        )
        for row in rows
    ]


async def settle(session: Session, scope: AccountScope, settled: Sequence[Settled]) -> None:
    """Let held tests go, each due at its next time. A skip is recorded with the time it was due at."""
    values = [
        {
            "account_id": scope.account_id,
            "id": one.test_id,
            "next_run_at": one.next_run_at,
            "reason": one.reason,
        }
        for one in settled
    ]
    if values:
        await session.execute(_SETTLE, values)


async def put_off(session: Session, scope: AccountScope, seconds: int) -> None:
    """Leave the account's due tests due, but look at them in `seconds` only."""
    values = {"account_id": scope.account_id, "seconds": float(seconds), "limit": _MOST_PUT_OFF}
    await session.execute(_PUT_OFF, values)
