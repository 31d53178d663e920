"""SQL of retention.

Retention is the one room that removes rows of other rooms: what goes is decided in one place, and
every removal has the same form. Rows are found through an index per account, oldest first, held with
SKIP LOCKED, and removed in one statement of at most `limit` rows, which is a transaction of its own:
it may be cut at any moment, and any number of workers may remove at once. Children go with their rows
by the database's cascades. The ledger is never touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from parley.server.db.raw import RawConnection
from parley.server.db.repository import SystemScope
from parley.server.retention.policy import DELETED_GRACE, ENDED_STATES, QUOTA_UNITS_KEPT, OtherKind
from parley.server.retention.targets import AccountPage, KeptAccount, RunTarget

_ACCOUNTS = """
SELECT accounts.id, retention_overrides.days, now() AS now
  FROM accounts LEFT JOIN retention_overrides ON retention_overrides.account_id = accounts.id
 WHERE $1::uuid IS NULL OR accounts.id > $1
 ORDER BY accounts.id LIMIT $2
"""

# The inner LIMIT and ORDER BY hold the planner to the index, whatever it believes of the arrays.
REMOVE_RUNS = """
WITH old AS MATERIALIZED (
    SELECT found.account_id, found.id
      FROM unnest($1::uuid[], $2::text[], $3::timestamptz[]) AS target(account_id, state, before)
     CROSS JOIN LATERAL (
           SELECT account_id, id FROM runs
            WHERE runs.account_id = target.account_id AND runs.state = target.state
              AND runs.finished_at < target.before AND runs.trigger <> 'suite'
            ORDER BY runs.finished_at LIMIT $4 FOR UPDATE SKIP LOCKED
     ) AS found
     LIMIT $4
)
DELETE FROM runs USING old WHERE runs.account_id = old.account_id AND runs.id = old.id
RETURNING runs.state
"""

REMOVE_DIRECT_CALLS = """
WITH old AS MATERIALIZED (
    SELECT found.account_id, found.id
      FROM unnest($1::uuid[]) AS target(account_id)
     CROSS JOIN LATERAL (
           SELECT account_id, id FROM direct_calls
            WHERE direct_calls.account_id = target.account_id AND direct_calls.state = 'ended'
              AND direct_calls.finished_at < now() - $2::interval
            ORDER BY direct_calls.finished_at LIMIT $3 FOR UPDATE SKIP LOCKED
     ) AS found
     LIMIT $3
)
DELETE FROM direct_calls USING old
 WHERE direct_calls.account_id = old.account_id AND direct_calls.id = old.id
RETURNING true
"""

REMOVE_QUOTA_UNITS = """
WITH old AS MATERIALIZED (
    SELECT found.account_id, found.id
      FROM unnest($1::uuid[]) AS target(account_id)
     CROSS JOIN LATERAL (
           SELECT account_id, id FROM quota_units
            WHERE quota_units.account_id = target.account_id AND quota_units.spent_at < now() - $2::interval
            ORDER BY quota_units.spent_at LIMIT $3 FOR UPDATE SKIP LOCKED
     ) AS found
     LIMIT $3
)
DELETE FROM quota_units USING old
 WHERE quota_units.account_id = old.account_id AND quota_units.id = old.id
RETURNING true
"""

# By their creation over all accounts: there are few. One that is still being delivered waits for its end.
REMOVE_NOTIFICATIONS = """
WITH old AS MATERIALIZED (
    SELECT account_id, id FROM notifications
     WHERE created_at < now() - $1::interval
       AND NOT EXISTS (SELECT FROM deliveries
                        WHERE deliveries.account_id = notifications.account_id
                          AND deliveries.notification_id = notifications.id
                          AND deliveries.state = 'pending')
     ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED
)
DELETE FROM notifications USING old
 WHERE notifications.account_id = old.account_id AND notifications.id = old.id
RETURNING true
"""

REMOVE_OUTBOX_ROWS = """
WITH old AS MATERIALIZED (
    SELECT account_id, kind, group_id, subject_id FROM outbox
     WHERE created_at < now() - $1::interval
     ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED
)
DELETE FROM outbox USING old
 WHERE outbox.account_id = old.account_id AND outbox.kind = old.kind
   AND outbox.group_id = old.group_id AND outbox.subject_id = old.subject_id
RETURNING true
"""

DELETED_TESTS = """
SELECT account_id, id FROM agentic_tests
 WHERE deleted_at IS NOT NULL AND (account_id, id) > ($1, $2)
 ORDER BY account_id, id LIMIT $3
"""

# A range of one test, in the order of the tests' index: told by equality, the planner walks all runs by
# their ids, since it expects those of the test soon.
REMOVE_RUNS_OF_TESTS = """
WITH old AS MATERIALIZED (
    SELECT found.account_id, found.id
      FROM unnest($1::uuid[], $2::uuid[]) AS target(account_id, test_id)
     CROSS JOIN LATERAL (
           SELECT account_id, id FROM runs
            WHERE runs.account_id = target.account_id
              AND runs.test_id BETWEEN target.test_id AND target.test_id AND runs.state = ANY($3::text[])
              AND runs.finished_at < now() - $4::interval AND runs.trigger <> 'suite'
            ORDER BY runs.test_id, runs.id LIMIT $5 FOR UPDATE SKIP LOCKED
     ) AS found
     LIMIT $5
)
DELETE FROM runs USING old WHERE runs.account_id = old.account_id AND runs.id = old.id
RETURNING runs.state
"""

# A deleted test gets no runs any more: starts and deletions exclude each other by its row lock.
REMOVE_TESTS = """
WITH old AS MATERIALIZED (
    SELECT tests.account_id, tests.id
      FROM unnest($1::uuid[], $2::uuid[]) AS target(account_id, id)
      JOIN agentic_tests AS tests ON tests.account_id = target.account_id AND tests.id = target.id
     WHERE tests.deleted_at < now() - $3::interval
       AND NOT EXISTS (SELECT FROM runs WHERE runs.account_id = tests.account_id AND runs.test_id = tests.id)
     LIMIT $4 FOR UPDATE OF tests SKIP LOCKED
)
DELETE FROM agentic_tests USING old
 WHERE agentic_tests.account_id = old.account_id AND agentic_tests.id = old.id
RETURNING true
"""

_COUNT_RUNS = """
SELECT target.account_id, target.state, aged.runs AS aged, orphaned.runs AS orphaned
  FROM unnest($1::uuid[], $2::text[], $3::timestamptz[]) AS target(account_id, state, before)
 CROSS JOIN LATERAL (
       SELECT count(*) AS runs FROM runs
        WHERE runs.account_id = target.account_id AND runs.state = target.state
          AND runs.finished_at < target.before AND runs.trigger <> 'suite'
 ) AS aged
 CROSS JOIN LATERAL (
       SELECT count(*) AS runs
         FROM agentic_tests AS tests
         JOIN runs ON runs.account_id = tests.account_id AND runs.test_id = tests.id
        WHERE tests.account_id = target.account_id AND tests.deleted_at IS NOT NULL
          AND runs.state = target.state AND runs.trigger <> 'suite'
          AND runs.finished_at >= target.before AND runs.finished_at < now() - $4::interval
 ) AS orphaned
"""

_COUNT_DIRECT_CALLS = """
SELECT account_id, count(*) AS rows FROM direct_calls
 WHERE account_id = ANY($1::uuid[]) AND state = 'ended' AND finished_at < now() - $2::interval
 GROUP BY account_id
"""

_COUNT_QUOTA_UNITS = """
SELECT account_id, count(*) AS rows FROM quota_units
 WHERE account_id = ANY($1::uuid[]) AND spent_at < now() - $2::interval GROUP BY account_id
"""

_COUNT_NOTIFICATIONS = """
SELECT account_id, count(*) AS rows FROM notifications
 WHERE account_id = ANY($1::uuid[]) AND created_at < now() - $2::interval
   AND NOT EXISTS (SELECT FROM deliveries
                    WHERE deliveries.account_id = notifications.account_id
                      AND deliveries.notification_id = notifications.id
                      AND deliveries.state = 'pending')
 GROUP BY account_id
"""

_COUNT_OUTBOX_ROWS = """
SELECT account_id, count(*) AS rows FROM outbox
 WHERE account_id = ANY($1::uuid[]) AND created_at < now() - $2::interval GROUP BY account_id
"""

_COUNT_KEYS = """
SELECT account_id, count(*) AS rows FROM idempotency_keys
 WHERE account_id = ANY($1::uuid[]) AND created_at < now() - $2::interval GROUP BY account_id
"""

_COUNTS: Final[dict[OtherKind, str]] = {
    "direct evaluations": _COUNT_DIRECT_CALLS,
    "notifications": _COUNT_NOTIFICATIONS,
    "unanswered ends": _COUNT_OUTBOX_ROWS,
    "quota units": _COUNT_QUOTA_UNITS,
    "idempotency keys": _COUNT_KEYS,
}


class TestPlace(NamedTuple):
    """The key of a test."""

    account_id: UUID
    id: UUID


class RunCount(NamedTuple):
    """How many runs of one account and state would go: by their age, and with their deleted tests."""

    account_id: UUID
    state: str
    aged: int
    orphaned: int


class RetentionRepository:
    """Statements over the rows of all accounts, on a connection in autocommit.

    Every removal takes at most `limit` rows and tells how many went.
    """

    def __init__(self, connection: RawConnection, scope: SystemScope) -> None:
        """Raises TypeError for anything but a system scope."""
        if not isinstance(scope, SystemScope):
            raise TypeError("retention needs a SystemScope")
        self._connection = connection

    async def accounts_after(self, after: UUID | None, limit: int) -> AccountPage | None:
        """The next accounts in the order of their ids, None behind the last."""
        rows = await self._connection.fetch(_ACCOUNTS, after, limit)
        if not rows:
            return None
        return AccountPage([KeptAccount(row["id"], row["days"]) for row in rows], rows[0]["now"])

    async def deleted_tests_after(self, after: TestPlace, limit: int) -> Sequence[TestPlace]:
        """The next deleted tests in the order of their keys."""
        rows = await self._connection.fetch(DELETED_TESTS, after.account_id, after.id, limit)
        return [TestPlace(row["account_id"], row["id"]) for row in rows]

    async def remove_runs(self, targets: Sequence[RunTarget], limit: int) -> int:
        """Remove runs that ended before the times of their targets, with all that hangs on them."""
        return len(await self._connection.fetch(REMOVE_RUNS, *_columns(targets), limit))

    async def remove_runs_of(self, tests: Sequence[TestPlace], limit: int) -> int:
        """Remove the ended runs of deleted tests, except those that belong to an evaluation."""
        accounts, ids = _keys(tests)
        states = list(ENDED_STATES)
        return len(
            await self._connection.fetch(REMOVE_RUNS_OF_TESTS, accounts, ids, states, DELETED_GRACE, limit)
        )

    async def remove_tests(self, tests: Sequence[TestPlace], limit: int) -> int:
        """Remove deleted tests that have no runs left."""
        accounts, ids = _keys(tests)
        return len(await self._connection.fetch(REMOVE_TESTS, accounts, ids, DELETED_GRACE, limit))

    async def remove_direct_calls(self, accounts: Sequence[UUID], kept: timedelta, limit: int) -> int:
        """Remove the rows of direct evaluations that ended `kept` ago."""
        return len(await self._connection.fetch(REMOVE_DIRECT_CALLS, accounts, kept, limit))

    async def remove_quota_units(self, accounts: Sequence[UUID], limit: int) -> int:
        """Remove units of quota that count no more; those of accounts at work go at their next start."""
        return len(await self._connection.fetch(REMOVE_QUOTA_UNITS, accounts, QUOTA_UNITS_KEPT, limit))

    async def remove_notifications(self, kept: timedelta, limit: int) -> int:
        """Remove notifications that were written `kept` ago, with their deliveries."""
        return len(await self._connection.fetch(REMOVE_NOTIFICATIONS, kept, limit))

    async def remove_outbox_rows(self, kept: timedelta, limit: int) -> int:
        """Remove what happened `kept` ago and nobody reacted to."""
        return len(await self._connection.fetch(REMOVE_OUTBOX_ROWS, kept, limit))

    async def count_runs(self, targets: Sequence[RunTarget]) -> Sequence[RunCount]:
        """How many runs of each target would go."""
        rows = await self._connection.fetch(_COUNT_RUNS, *_columns(targets), DELETED_GRACE)
        return [RunCount(row["account_id"], row["state"], row["aged"], row["orphaned"]) for row in rows]

    async def count_other(
        self, kind: OtherKind, accounts: Sequence[UUID], kept: timedelta
    ) -> dict[UUID, int]:
        """How many rows of a kind would go of each account, where there are any."""
        rows = await self._connection.fetch(_COUNTS[kind], accounts, kept)
        return {row["account_id"]: row["rows"] for row in rows}


def _columns(targets: Sequence[RunTarget]) -> tuple[list[UUID], list[str], list[datetime]]:
    return (
        [target.account_id for target in targets],
        [target.state for target in targets],
        [target.before for target in targets],
    )


def _keys(tests: Sequence[TestPlace]) -> tuple[list[UUID], list[UUID]]:
    return [test.account_id for test in tests], [test.id for test in tests]
