"""Retention by hand, and overrides of accounts, on a real database."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from parley.server.db.database import Database
from tests.factories.accounts import Tenant, make_tenant
from tests.integration.ops.test_commands import invoke, rows
from tests.integration.retention.history import make_direct_calls, make_notifications, make_runs, make_test

NOBODY = "0199f0c4-0000-7000-8000-000000000000"
COUNTS = "SELECT (SELECT count(*) FROM runs) AS runs, (SELECT count(*) FROM entries) AS entries"


def arrange(database_url: str, prepare: Callable[[Database], Coroutine[Any, Any, Tenant]]) -> Tenant:
    async def prepared() -> Tenant:
        database = Database(database_url)
        try:
            return await prepare(database)
        finally:
            await database.close()

    return asyncio.run(prepared())


@pytest.fixture
def tenant(database_url: str) -> Tenant:
    """An account with a history, beside one that has none."""

    async def prepare(database: Database) -> Tenant:
        await make_tenant(database, "Bystander")
        made = await make_tenant(database)
        test_id = await make_test(database, made.scope)
        await make_runs(database, made.scope, test_id, count=3, days_ago=40)
        await make_runs(database, made.scope, test_id, count=2, days_ago=20, state="failed")
        await make_runs(database, made.scope, test_id, count=1, days_ago=2, state="cancelled")
        await make_direct_calls(database, made.scope, 4, days_ago=91)
        await make_notifications(database, made.scope, 5, days_ago=31)
        return made

    return arrange(database_url, prepare)


def numbers_of(line: str) -> list[int]:
    return [int(cell) for cell in line.partition("(")[0].split()[1:]]


def test_a_dry_run_tells_by_account_and_state_and_changes_nothing(database_url: str, tenant: Tenant) -> None:
    before = rows(database_url, COUNTS)
    code, text = invoke(database_url, "retention", "--dry-run")
    assert code == 0
    head, line, total = text.splitlines()
    assert head.split()[:4] == ["account", "succeeded", "failed", "cancelled"]
    assert line.startswith(str(tenant.account_id))
    assert numbers_of(line) == numbers_of(total) == [3, 0, 1, 0, 4, 5, 0, 0, 0]
    assert rows(database_url, COUNTS) == before


@pytest.mark.usefixtures("tenant")
def test_a_dry_run_tries_other_settings(database_url: str) -> None:
    _, text = invoke(database_url, "retention", "--dry-run", PARLEY_RETENTION_RUN_DAYS="14")
    assert numbers_of(text.splitlines()[1]) == [3, 2, 1, 0, 4, 5, 0, 0, 0]


@pytest.mark.usefixtures("tenant")
def test_a_pass_by_hand_removes_what_the_dry_run_told(database_url: str) -> None:
    code, text = invoke(database_url, "retention")
    assert code == 0
    assert re.search(r"^ +4  runs$", text, re.MULTILINE)
    assert re.search(r"^ +4  direct evaluations$", text, re.MULTILINE)
    assert re.search(r"^ +5  notifications$", text, re.MULTILINE)
    assert [tuple(row) for row in rows(database_url, COUNTS)] == [(2, 4)]


def test_an_override_is_told_followed_recorded_and_taken_back(database_url: str, tenant: Tenant) -> None:
    account = str(tenant.account_id)
    assert invoke(database_url, "accounts", "retention", account) == (
        0,
        "Runs are kept as everyone's: 30 days from their end.\n",
    )
    assert invoke(database_url, "accounts", "retention", account, "--days", "365") == (
        0,
        "Runs are kept 365 days from their end.\n",
    )
    _, text = invoke(database_url, "retention", "--dry-run")
    assert numbers_of(text.splitlines()[1]) == [0, 0, 1, 0, 4, 5, 0, 0, 0]
    assert "(kept 365 days)" in text
    assert invoke(database_url, "accounts", "retention", account, "--default")[0] == 0
    acts = rows(
        database_url,
        "SELECT account_id, via, details FROM operator_acts WHERE act = $1 ORDER BY id",
        "account.retention",
    )
    assert [(act["account_id"], act["via"]) for act in acts] == [(tenant.account_id, "command")] * 2
    assert rows(database_url, "SELECT * FROM retention_overrides") == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((NOBODY,), "There is no such account."),
        ((NOBODY, "--days", "5"), "There is no such account."),
        ((NOBODY, "--days", "5", "--default"), "Say --days or --default, not both."),
        ((NOBODY, "--days", "0"), "greater than or equal to 1"),
    ],
)
def test_a_wrong_override_ends_with_code_2_and_says_why(
    database_url: str, words: tuple[str, ...], sentence: str
) -> None:
    code, text = invoke(database_url, "accounts", "retention", *words)
    assert code == 2
    assert sentence in text
    assert "Traceback" not in text
