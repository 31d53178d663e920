"""A history to remove from, written straight into the tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from parley.server.db.database import Database
from parley.server.db.repository import AccountScope
from parley.server.kit.ids import new_id
from tests.factories.agentic_tests import INTEGRATED, make_agentic_test

_RUNS = """
INSERT INTO runs (account_id, id, test_id, state, trigger, revision, seed, definition,
                  created_at, finished_at)
SELECT $1, run_id, $2, $3, $4, 'r', 1, '{}', now() - $6 * interval '1 day',
       now() - $6 * interval '1 day' - number * interval '1 millisecond'
  FROM unnest($5::uuid[]) WITH ORDINALITY AS made(run_id, number)
"""
_ENTRIES = """
INSERT INTO entries (account_id, run_id, seq, kind, turn, body)
SELECT $1, run_id, seq, 'user', 1, '{}' FROM unnest($2::uuid[]) AS run_id, generate_series(1, $3) AS seq
"""
_CREDENTIALS = "INSERT INTO hook_credentials (account_id, run_id) SELECT $1, unnest($2::uuid[])"
_LEDGER = """
INSERT INTO ledger (account_id, source, source_id, seq, amount)
SELECT $1, 'run', run_id, 1, -0.001 FROM unnest($2::uuid[]) AS run_id
"""


async def make_test(database: Database, scope: AccountScope) -> UUID:
    """A test."""
    return await make_agentic_test(database, scope, INTEGRATED)


async def make_runs(
    database: Database,
    scope: AccountScope,
    test_id: UUID,
    *,
    state: str = "succeeded",
    days_ago: float = 31,
    count: int = 1,
    entries: int = 2,
    trigger: str = "manual",
) -> list[UUID]:
    """Runs with entries, hook credentials and a charge each, which ended so long ago unless they are open."""
    ids = [new_id() for _ in range(count)]
    async with database.raw() as connection, connection.transaction():
        await connection.execute(_RUNS, scope.account_id, test_id, state, trigger, ids, days_ago)
        if state in ("pending", "running"):
            await connection.execute("UPDATE runs SET finished_at = NULL WHERE id = ANY($1)", ids)
        await connection.execute(_ENTRIES, scope.account_id, ids, entries)
        await connection.execute(_CREDENTIALS, scope.account_id, ids)
        await connection.execute(_LEDGER, scope.account_id, ids)
    return ids


async def make_direct_calls(
    database: Database, scope: AccountScope, count: int, days_ago: float, state: str = "ended"
) -> None:
    """Direct evaluations that ended, or began, so long ago."""
    await execute(
        database,
        "INSERT INTO direct_calls (account_id, id, state, finished_at) SELECT $1, unnest($2::uuid[]), $3, "
        "CASE WHEN $3 = 'ended' THEN now() - $4 * interval '1 day' END",
        scope.account_id,
        [new_id() for _ in range(count)],
        state,
        days_ago,
    )


async def make_notifications(
    database: Database, scope: AccountScope, count: int, days_ago: float, state: str = "delivered"
) -> None:
    """Notifications that were written so long ago, for two readers each."""
    ids = [new_id() for _ in range(count)]
    await execute(
        database,
        "INSERT INTO notifications (account_id, id, kind, facts, created_at) "
        "SELECT $1, unnest($2::uuid[]), 'test.failing', '{}', now() - $3 * interval '1 day'",
        scope.account_id,
        ids,
        days_ago,
    )
    await execute(
        database,
        "INSERT INTO deliveries (account_id, id, notification_id, email, state, finished_at) "
        "SELECT $1, gen_random_uuid(), notification_id, reader, $3, "
        "CASE WHEN $3 <> 'pending' THEN now() END "
        "FROM unnest($2::uuid[]) AS notification_id, unnest(ARRAY['a@b.test', 'c@d.test']) AS reader",
        scope.account_id,
        ids,
        state,
    )


async def make_outbox_rows(database: Database, scope: AccountScope, count: int, days_ago: float) -> None:
    """Ends of runs that nobody has reacted to for so long."""
    await execute(
        database,
        "INSERT INTO outbox (account_id, kind, group_id, subject_id, created_at) "
        "SELECT $1, 'run_ended', $1, gen_random_uuid(), now() - $3 * interval '1 day' "
        "FROM generate_series(1, $2::int)",
        scope.account_id,
        count,
        days_ago,
    )


async def make_quota_units(database: Database, scope: AccountScope, count: int, seconds_ago: float) -> None:
    """Units spent so long ago."""
    await execute(
        database,
        "INSERT INTO quota_units (account_id, id, spent_at) "
        "SELECT $1, unnest($2::uuid[]), now() - make_interval(secs => $3)",
        scope.account_id,
        [new_id() for _ in range(count)],
        seconds_ago,
    )


async def execute(database: Database, statement: str, *values: Any) -> None:
    """One statement."""
    async with database.raw() as connection:
        await connection.execute(statement, *values)


async def run_ids(database: Database) -> set[UUID]:
    """The runs that are left."""
    async with database.raw() as connection:
        return {row["id"] for row in await connection.fetch("SELECT id FROM runs")}


async def count_of(database: Database, *tables: str) -> Sequence[int]:
    """How many rows the tables hold."""
    async with database.raw() as connection:
        return [await connection.fetchval(f"SELECT count(*) FROM {table}") for table in tables]
