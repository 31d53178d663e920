"""Operators' commands for accounts, money, plans and runs, on a real database."""

from __future__ import annotations

import asyncio
import json
import re
import uuid

import asyncpg
import pytest
from typer.testing import CliRunner

from parley.sdk.cli import build_app


def invoke(database_url: str, *words: str) -> tuple[int, str]:
    settings = {"PARLEY_DATABASE_URL": database_url, "COLUMNS": "120"}
    result = CliRunner().invoke(build_app(), list(words), env=settings)
    return result.exit_code, result.output


def rows(database_url: str, question: str) -> list[asyncpg.Record]:
    async def ask() -> list[asyncpg.Record]:
        connection = await asyncpg.connect(database_url)
        try:
            return await connection.fetch(question)
        finally:
            await connection.close()

    return asyncio.run(ask())


@pytest.fixture
def account(database_url: str) -> str:
    """An account that a command made."""
    code, text = invoke(database_url, "accounts", "create", "Example Ltd", "--credit", "10")
    assert code == 0, text
    found = re.search(r"^account +(\S+)$", text, flags=re.MULTILINE)
    assert found is not None
    return found[1]


def acts(database_url: str) -> list[str]:
    return [
        row["act"]
        for row in rows(database_url, "SELECT act FROM operator_acts WHERE via = 'command' ORDER BY id")
    ]


def test_account_gets_limits_of_its_own_and_gives_them_back(database_url: str, account: str) -> None:
    code, text = invoke(database_url, "accounts", "limits", account, "--concurrent-runs", "3")
    assert (code, "as its plan says" in text, " 3\n" in text) == (0, True, True)
    shown = json.loads(invoke(database_url, "accounts", "show", account)[1])
    assert (shown["concurrent_runs"]["limit"], shown["runs_per_minute"]["limit"]) == (3, 5)
    assert invoke(database_url, "accounts", "limits", account)[0] == 0
    shown = json.loads(invoke(database_url, "accounts", "show", account)[1])
    assert shown["concurrent_runs"]["limit"] == 1
    assert acts(database_url) == ["account.create", "account.limits", "account.limits"]
    assert invoke(database_url, "accounts", "limits", account, "--concurrent-runs", "0")[0] == 2
    assert invoke(database_url, "accounts", "limits", str(uuid.uuid4()))[0] == 2


def test_accounts_are_listed_suspended_and_moved_to_another_plan(database_url: str, account: str) -> None:
    assert invoke(database_url, "accounts", "suspend", account)[0] == 0
    assert invoke(database_url, "accounts", "plan", account, "pro")[0] == 0
    code, text = invoke(database_url, "accounts", "list", "--search", "example")
    assert (code, text.split()) == (0, [account, "pro", "suspended", "10.000000000", "Example", "Ltd"])
    assert invoke(database_url, "accounts", "unsuspend", account)[0] == 0
    code, text = invoke(database_url, "accounts", "show", account)
    assert json.loads(text)["runs_per_minute"]["limit"] == 30
    assert acts(database_url) == ["account.create", "account.suspend", "account.plan", "account.unsuspend"]


def test_money_is_moved_and_the_books_are_checked(database_url: str, account: str) -> None:
    assert invoke(database_url, "money", "credit", account, "2.5") == (0, "12.500000000\n")
    assert invoke(database_url, "money", "adjust", account, "-0.000000001", "--note", "ours") == (
        0,
        "12.499999999\n",
    )
    assert invoke(database_url, "money", "check")[0] == 0
    rows(database_url, "UPDATE accounts SET balance = 0")
    code, text = invoke(database_url, "money", "check")
    assert code == 1
    assert text.split() == [account, "balance", "0.000000000", "ledger", "12.499999999"]
    assert acts(database_url) == ["account.create", "money.credit", "money.adjustment"]


@pytest.mark.parametrize("amount", ["0", "-1", "NaN", "Infinity", "1e9", "much"])
def test_credit_that_cannot_be_meant_is_refused(database_url: str, account: str, amount: str) -> None:
    code, _ = invoke(database_url, "money", "credit", account, "--", amount)
    assert code == 2
    assert acts(database_url) == ["account.create"]


def test_usage_is_a_sheet_or_json(database_url: str, account: str) -> None:
    code, text = invoke(database_url, "accounts", "usage", account)
    assert (code, text.startswith("day,role,model,test_id")) == (0, True)
    code, text = invoke(database_url, "accounts", "usage", account, "--format", "json", "--start", "soon")
    assert code == 2
    assert "time_start" in text


def test_key_is_revoked(database_url: str, account: str) -> None:
    [key] = rows(database_url, "SELECT id FROM api_keys WHERE kind = 'private'")
    assert invoke(database_url, "keys", "revoke", account, str(key["id"]))[0] == 0
    [row] = rows(database_url, "SELECT revoked_at FROM api_keys WHERE kind = 'private'")
    assert row["revoked_at"] is not None
    assert invoke(database_url, "keys", "revoke", account, str(uuid.uuid4()))[0] == 2


def test_plans_are_listed_and_edited(fresh_database_url: str) -> None:
    code, text = invoke(fresh_database_url, "plans", "edit", "free", "runs_per_minute=null", "multiplier=1.5")
    assert code == 0, text
    edited = json.loads(text)
    assert (edited["runs_per_minute"], edited["multiplier"], edited["concurrent_runs"]) == (None, 1.5, 1)
    code, text = invoke(fresh_database_url, "plans", "list")
    assert [json.loads(line)["code"] for line in text.splitlines()] == ["free", "max", "pro"]
    for wrong in ("price=1", "metered", "metered=maybe", "concurrent_runs=0"):
        assert invoke(fresh_database_url, "plans", "edit", "free", wrong)[0] == 2, wrong
    assert invoke(fresh_database_url, "plans", "edit", "gold", "metered=true")[0] == 2
    assert acts(fresh_database_url) == ["plan.edit"]


def test_stuck_runs_are_none_in_an_idle_service(database_url: str) -> None:
    assert invoke(database_url, "runs", "stuck") == (0, "none\n")
