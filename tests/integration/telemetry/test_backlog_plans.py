"""What a scrape asks the database: as cheap after a year as on the first day."""

from __future__ import annotations

from typing import Any

import pytest

from parley.server.db.database import Database
from parley.server.telemetry import backlog
from tests.factories.accounts import Tenant
from tests.integration.retention.history import make_runs, make_test

ENDED = 20_000
_DIRECT_CALLS = """
INSERT INTO direct_calls (account_id, id, state, finished_at)
SELECT $1, gen_random_uuid(), 'ended', now() FROM generate_series(1, $2)
"""


@pytest.fixture
async def long_history(database: Database, tenant: Tenant) -> Database:
    """Many ended runs and direct evaluations, and few open ones."""
    test_id = await make_test(database, tenant.scope)
    await make_runs(database, tenant.scope, test_id, count=ENDED, entries=1)
    await make_runs(database, tenant.scope, test_id, state="pending", count=20, days_ago=0)
    async with database.raw() as connection:
        await connection.execute(_DIRECT_CALLS, tenant.account_id, ENDED)
        await connection.execute("ANALYZE")
    return database


def read_whole(plan: dict[str, Any]) -> set[str]:
    """Tables that a plan reads from one end to the other."""
    found = {plan["Relation Name"]} if plan["Node Type"] == "Seq Scan" else set()
    return found.union(*map(read_whole, plan.get("Plans", ())))


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        (backlog._WAITING, (backlog.MOST_ROWS, backlog.MOST_ACCOUNTS)),
        (backlog._SLOTS, (backlog.MOST_ROWS,)),
        (backlog._OTHERS, (backlog.MOST_ROWS,)),
    ],
    ids=["waiting", "slots", "others"],
)
async def test_ended_rows_are_not_read(
    long_history: Database, statement: str, values: tuple[int, ...]
) -> None:
    async with long_history.raw() as connection:
        for mode in ("force_custom_plan", "force_generic_plan"):
            await connection.execute(f"SET plan_cache_mode = {mode}")
            try:
                [explained] = await connection.fetchval(f"EXPLAIN (FORMAT JSON) {statement}", *values)
            finally:
                await connection.execute("RESET plan_cache_mode")
            assert not read_whole(explained["Plan"]) & {"runs", "direct_calls"}, mode
