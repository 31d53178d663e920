"""`/api/v1/account`, `limits` and `information`, as owner, stranger, public key and nobody."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import httpx
import pytest

from parley.server.accounts.scopes import KeyScope
from parley.server.billing.credits import move_money
from parley.server.db.database import Database
from parley.server.kit.ids import new_id
from tests.factories.accounts import Tenant, make_key, make_tenant
from tests.factories.agentic_tests import make_agentic_test, make_gateway

ACCOUNT, LIMITS = "/api/v1/account", "/api/v1/limits"
BALANCE, USAGE = "/api/v1/information/balance", "/api/v1/information/usage"
NOON = datetime(2026, 11, 10, 12, tzinfo=UTC)
WHOLE = {"time_start": "2026-11-01", "time_end": "2026-12-01"}


async def charge(
    database: Database,
    tenant: Tenant,
    *,
    amount: str = "0.5",
    at: datetime = NOON,
    role: str = "judge",
    llm: str = "big-1",
    test_id: UUID | None = None,
    estimated: bool = False,
) -> None:
    """A charge of the ledger, with the balance."""
    async with database.raw() as connection:
        await connection.execute(
            "INSERT INTO ledger (account_id, source, source_id, seq, amount, role, llm, test_id,"
            " prompt_tokens, cached_prompt_tokens, completion_tokens, estimated, created_at)"
            " VALUES ($1, 'run', $2, 1, -$3::numeric, $4, $5, $6, 100, 20, 30, $7, $8)",
            *(tenant.account_id, new_id(), Decimal(amount), role, llm, test_id, estimated, at),
        )
        await connection.execute(
            "UPDATE accounts SET balance = balance - $2 WHERE id = $1", tenant.account_id, Decimal(amount)
        )


ROUTES: list[tuple[str, str, KeyScope | None, dict[str, Any] | None]] = [
    ("GET", ACCOUNT, "account:read", None),
    ("PUT", ACCOUNT, "account:write", {"name": "New name"}),
    ("GET", BALANCE, "account:read", None),
    ("GET", USAGE, "account:read", None),
    ("GET", LIMITS, None, None),
]


@pytest.mark.parametrize(("method", "path", "scope", "body"), ROUTES)
async def test_each_route_wants_a_private_key_with_its_scope(
    client: httpx.AsyncClient,
    database: Database,
    tenant: Tenant,
    method: str,
    path: str,
    scope: KeyScope | None,
    body: dict[str, Any] | None,
) -> None:
    async def asked(auth: dict[str, str]) -> tuple[int, str | None]:
        answer = await client.request(method, path, headers=auth, json=body)
        return answer.status_code, answer.json().get("code")

    lacking = await make_key(database, tenant.account_id, scopes=("tests:read",))
    assert await asked({}) == (401, "missing_api_key")
    assert await asked(tenant.public.auth) == (403, "public_key_refused")
    assert await asked(lacking.auth) == ((403, "scope_missing") if scope else (200, None))
    if scope:
        enough = await make_key(database, tenant.account_id, scopes=(scope,))
        assert await asked(enough.auth) == (200, None)


@pytest.mark.parametrize(("method", "path", "scope", "body"), ROUTES)
async def test_nothing_in_a_request_names_another_account(
    client: httpx.AsyncClient,
    database: Database,
    tenant: Tenant,
    stranger: Tenant,
    method: str,
    path: str,
    scope: KeyScope | None,
    body: dict[str, Any] | None,
) -> None:
    """C185"""
    del scope
    await charge(database, tenant)
    seen = (await client.request(method, path, headers=stranger.auth, json=body)).json()["data"]
    foreign = {"account_id": str(tenant.account_id)}
    headers = stranger.auth | {"X-Account-Id": str(tenant.account_id)}
    again = await client.request(method, path, headers=headers, json=body, params=foreign)
    same = again.json()["data"]
    for moving in ("time_start", "time_end"):
        seen.pop(moving, None)
        same.pop(moving, None)
    assert same == seen
    if body:
        refused = await client.request(method, path, headers=stranger.auth, json=body | foreign)
        assert [line["field"] for line in refused.json()["details"]] == ["account_id"]


# The account


async def test_account_is_read_and_replaced(client: httpx.AsyncClient, tenant: Tenant) -> None:
    before = (await client.get(ACCOUNT, headers=tenant.auth)).json()["data"]
    assert (before["id"], before["name"], before["plan"]) == (str(tenant.account_id), "Owner", "max")
    assert (before["owner_email"], before["alerts_contact"], before["status"]) == (None, None, "active")
    body = {"name": "Example Ltd", "owner_email": "ada@example.com", "alerts_contact": "on-call@example.com"}
    after = (await client.put(ACCOUNT, headers=tenant.auth, json=body)).json()["data"]
    assert after == before | body
    assert (await client.get(ACCOUNT, headers=tenant.auth)).json()["data"] == after
    cleared = (await client.put(ACCOUNT, headers=tenant.auth, json={"name": "x"})).json()["data"]
    assert (cleared["owner_email"], cleared["alerts_contact"]) == (None, None)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": " "}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": None}, "name"),
        ({"name": "x", "owner_email": "nobody"}, "owner_email"),
        ({"name": "x", "owner_email": "a@b@c.example"}, "owner_email"),
        ({"name": "x", "owner_email": "Ada <ada@example.com>"}, "owner_email"),
        ({"name": "x", "owner_email": "ada@example.com\r\nBcc: eve@example.com"}, "owner_email"),
        ({"name": "x", "owner_email": "ada@example.com\n"}, "owner_email"),
        ({"name": "x", "owner_email": "a, b@example.com"}, "owner_email"),
        ({"name": "x", "alerts_contact": "a" * 250 + "@example.com"}, "alerts_contact"),
        ({"name": "x", "plan": "max"}, "plan"),
        ({"name": "x", "balance": 1_000}, "balance"),
        ({"name": "x", "status": "active"}, "status"),
    ],
)
async def test_bad_account_names_its_field(
    client: httpx.AsyncClient, tenant: Tenant, body: dict[str, Any], field: str
) -> None:
    answer = await client.put(ACCOUNT, headers=tenant.auth, json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert [line["field"] for line in answer.json()["details"]] == [field]


# Balance


async def test_balance_follows_the_ledger_to_the_last_digit(
    client: httpx.AsyncClient, database: Database, tenant: Tenant
) -> None:
    await charge(database, tenant, amount="0.000000001")
    answer = (await client.get(BALANCE, headers=tenant.auth)).json()["data"]
    assert answer == {"balance": 99.999999999, "currency": "USD", "metered": True}
    async with database.session() as session:
        await move_money(session, tenant.account_id, Decimal(-200), "spent", "adjustment")
    assert (await client.get(BALANCE, headers=tenant.auth)).json()["data"]["balance"] == -100.000000001


# Usage


async def usage(client: httpx.AsyncClient, tenant: Tenant, **params: str) -> dict[str, Any]:
    answer = await client.get(USAGE, headers=tenant.auth, params=WHOLE | params)
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()["data"]
    return data


async def test_usage_is_told_by_day_role_llm_and_test(
    client: httpx.AsyncClient, database: Database, tenant: Tenant, stranger: Tenant
) -> None:
    gateway = await make_gateway(database, tenant.scope)
    test_id = await make_agentic_test(database, tenant.scope, gateway.slug)
    await charge(database, tenant, test_id=test_id)
    await charge(database, tenant, test_id=test_id, estimated=True)
    await charge(database, tenant, role="user", llm="small-1")
    await charge(database, tenant, at=NOON + timedelta(days=1))
    await charge(database, stranger, amount="9")
    found = await usage(client, tenant)
    assert (found["time_start"], found["time_end"]) == (
        "2026-11-01T00:00:00.000Z",
        "2026-12-01T00:00:00.000Z",
    )
    about = [(line["day"], line["role"], line["model"], line["test_id"]) for line in found["lines"]]
    assert about == [
        ("2026-11-10", "judge", "big-1", str(test_id)),
        ("2026-11-10", "user", "small-1", None),
        ("2026-11-11", "judge", "big-1", None),
    ]
    first = found["lines"][0]
    assert first["test_name"] == "Refund"
    assert (first["inferences"], first["estimated"], first["cost"]) == (2, 1, 1.0)
    assert (first["prompt_tokens"], first["cached_prompt_tokens"], first["completion_tokens"]) == (
        200,
        40,
        60,
    )
    assert (found["total"]["inferences"], found["total"]["cost"]) == (4, 2.0)


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("day", [("2026-11-10", None, None, None, 1.5), ("2026-11-11", None, None, None, 0.5)]),
        ("role", [(None, "judge", None, None, 1.5), (None, "user", None, None, 0.5)]),
        ("model,day", [("2026-11-10", None, "big-1", None, 1.0), ("2026-11-10", None, "small-1", None, 0.5)]),
        ("test", [(None, None, None, "Refund", 0.5), (None, None, None, None, 1.5)]),
    ],
)
async def test_usage_is_told_by_what_is_asked_for(
    client: httpx.AsyncClient, database: Database, tenant: Tenant, by: str, expected: list[Any]
) -> None:
    gateway = await make_gateway(database, tenant.scope)
    test_id = await make_agentic_test(database, tenant.scope, gateway.slug)
    await charge(database, tenant, test_id=test_id)
    await charge(database, tenant)
    await charge(database, tenant, role="user", llm="small-1")
    await charge(database, tenant, at=NOON + timedelta(days=1))
    found = await usage(client, tenant, by=by)
    lines = [
        tuple(line[key] for key in ("day", "role", "model", "test_name", "cost")) for line in found["lines"]
    ]
    assert lines[: len(expected)] == expected
    assert sum(line["cost"] for line in found["lines"]) == found["total"]["cost"] == 2.0


async def test_csv_leaves_empty_what_it_is_not_by(
    client: httpx.AsyncClient, database: Database, tenant: Tenant
) -> None:
    await charge(database, tenant)
    answer = await client.get(USAGE, headers=tenant.auth, params=WHOLE | {"format": "csv", "by": "model"})
    _, line = csv.reader(io.StringIO(answer.text, newline=""))
    assert line[:3] == ["", "", "big-1"]


async def test_days_are_utc_and_the_end_is_left_out(
    client: httpx.AsyncClient, database: Database, tenant: Tenant
) -> None:
    await charge(database, tenant, at=datetime(2026, 11, 9, 23, 59, 59, 999_999, tzinfo=UTC))
    await charge(database, tenant, at=datetime(2026, 11, 10, tzinfo=UTC))
    await charge(database, tenant, at=datetime(2026, 11, 11, tzinfo=UTC))
    one_day = await usage(client, tenant, time_start="2026-11-10", time_end="2026-11-11")
    assert [line["day"] for line in one_day["lines"]] == ["2026-11-10"]
    offset = await usage(
        client, tenant, time_start="2026-11-10T01:00:00+01:00", time_end="2026-11-11T00:00:00Z"
    )
    assert offset == one_day


async def test_credits_are_no_usage(client: httpx.AsyncClient, tenant: Tenant) -> None:
    answer = await client.get(USAGE, headers=tenant.auth)
    assert answer.json()["data"]["lines"] == []
    assert answer.json()["data"]["total"]["cost"] == 0


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"time_start": "yesterday"}, "time_start"),
        ({"time_end": "2026-11-10T12:00:00"}, "time_end"),
        ({"time_end": "2026-13-01"}, "time_end"),
        ({"time_end": "0001-01-01"}, "time_end"),
        ({"time_start": "2026-11-10", "time_end": "2026-11-10"}, "time_start"),
        ({"time_start": "2025-01-01", "time_end": "2026-11-10"}, "time_start"),
        ({"format": "xlsx"}, "format"),
        ({"by": "day,hour"}, "by"),
        ({"by": ""}, "by"),
        ({"time_start": "\x00"}, "time_start"),
    ],
)
async def test_bad_parameter_is_named(
    client: httpx.AsyncClient, tenant: Tenant, params: dict[str, str], field: str
) -> None:
    answer = await client.get(USAGE, headers=tenant.auth, params=params)
    assert answer.status_code == 400, answer.text
    assert [line["field"] for line in answer.json()["details"]] == [field]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "a=b", 'x","=1', "=1\n=2"])
async def test_csv_holds_no_formulas(
    client: httpx.AsyncClient, database: Database, tenant: Tenant, name: str
) -> None:
    gateway = await make_gateway(database, tenant.scope)
    test_id = await make_agentic_test(database, tenant.scope, gateway.slug)
    async with database.raw() as connection:  # older rows may hold what names may not hold any longer
        await connection.execute("UPDATE agentic_tests SET name = $2 WHERE id = $1", test_id, name)
    await charge(database, tenant, test_id=test_id, llm=name, amount="1.25")
    answer = await client.get(USAGE, headers=tenant.auth, params=WHOLE | {"format": "csv"})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert "attachment" in answer.headers["content-disposition"]
    head, line = csv.reader(io.StringIO(answer.text, newline=""))
    cells = dict(zip(head, line, strict=True))
    kept = name if name[0] in "ax" else f"'{name}"
    assert (cells["test_name"], cells["model"]) == (kept, kept)
    assert (cells["day"], cells["cost"], cells["inferences"]) == ("2026-11-10", "1.250000000", "1")
    assert not [cell for cell in line if cell.lstrip()[:1] in set("=+-@")]


# Limits


async def test_limits_tell_where_the_account_stands(client: httpx.AsyncClient, database: Database) -> None:
    tenant = await make_tenant(database, "Free", plan="free")
    gateway = await make_gateway(database, tenant.scope)
    test_id = await make_agentic_test(database, tenant.scope, gateway.slug)
    path = f"/api/v1/agentic-tests/{test_id}/runs"
    fresh = (await client.get(LIMITS, headers=tenant.auth)).json()["data"]
    assert fresh["runs_per_minute"] == {
        "limit": 5,
        "used": 0,
        "remaining": 5,
        "window_s": 60,
        "reset_at": None,
    }
    for _ in range(3):
        assert (await client.post(path, headers=tenant.auth)).status_code == 202
    found = (await client.get(LIMITS, headers=tenant.auth)).json()["data"]
    assert (found["plan"], found["metered"], found["multiplier"]) == ("free", True, 1.25)
    assert (found["runs_per_minute"]["used"], found["runs_per_minute"]["remaining"]) == (3, 2)
    assert found["runs_per_minute"]["reset_at"].endswith("Z")
    assert found["concurrent_runs"] == {"limit": 1, "in_use": 1, "waiting": 2}
    assert found["concurrent_direct"] == {"limit": 1, "in_use": 0}
    assert found["resources_per_test"] == 16
    assert found["integrated"]["requests_per_day"] == {"limit": 200, "used": 0, "remaining": 200}
