"""`/api/v1/suites`, as owner, stranger, public key and nobody."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

import httpx
import pytest

from parley.server.db.database import Database
from tests.factories.accounts import Tenant, make_key, make_tenant
from tests.factories.agentic_tests import make_agentic_test, make_gateway

URL = "/api/v1/suites"
UNKNOWN = "01a22cd1-1c69-7435-8e3a-8a2be0d79950"


async def make_tests(database: Database, tenant: Tenant, count: int) -> list[str]:
    gateway = await make_gateway(database, tenant.scope)
    return [
        str(await make_agentic_test(database, tenant.scope, gateway.slug, name=f"Test {at}", profile="low"))
        for at in range(count)
    ]


@pytest.fixture
async def tests(database: Database, tenant: Tenant) -> list[str]:
    """Three tests of the owner."""
    return await make_tests(database, tenant, 3)


@pytest.fixture
def ask(client: httpx.AsyncClient, tenant: Tenant) -> Any:
    """A request as the owner: the data, or the whole answer of a refusal."""

    async def asked(
        method: str,
        path: str = "",
        wanted: int = 200,
        body: Any = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        sent = tenant.auth | (headers or {})
        answer = await client.request(method, URL + path, headers=sent, json=body)
        assert answer.status_code == wanted, answer.text
        if wanted == 204:
            return None
        return answer.json()["data"] if wanted < 300 else answer.json()

    return asked


@pytest.fixture
async def suite(ask: Any, tests: list[str]) -> dict[str, Any]:
    """A suite of the three tests, two of them in the split smoke."""
    cases = [{"test_id": test, "splits": ["smoke"] if at < 2 else []} for at, test in enumerate(tests)]
    made: dict[str, Any] = await ask("POST", wanted=201, body={"name": "Returns", "cases": cases})
    return made


def faults(answer: dict[str, Any]) -> dict[str, str]:
    assert answer["code"] == "invalid_request"
    return {fault["field"]: fault["problem"] for fault in answer["details"]}


PATHS: list[tuple[str, str, int, Any]] = [
    ("GET", "", 200, None),
    ("POST", "", 201, "a suite"),
    ("GET", "/{id}", 200, None),
    ("PATCH", "/{id}", 200, {"name": "Refunds"}),
    ("POST", "/{id}/evaluations", 202, {}),
    ("DELETE", "/{id}", 204, None),
]


@pytest.mark.parametrize(("method", "path", "status", "body"), PATHS)
async def test_owner_may_and_nobody_else(
    method: str,
    path: str,
    status: int,
    body: Any,
    client: httpx.AsyncClient,
    tenant: Tenant,
    stranger: Tenant,
    database: Database,
    suite: dict[str, Any],
    tests: list[str],
) -> None:
    url = URL + path.format(id=suite["id"])
    sent = {"name": "Other", "cases": [{"test_id": tests[0]}]} if body == "a suite" else body
    reader = await make_key(database, tenant.account_id, scopes=["tests:read"])
    writer = await make_key(database, tenant.account_id, scopes=["evaluations:write"])
    foreign = {"": 200 if method == "GET" else 400}.get(path, 404)

    async def status_for(headers: dict[str, str]) -> int:
        return (await client.request(method, url, headers=headers, json=sent)).status_code

    assert await status_for({}) == 401
    assert await status_for(tenant.public.auth) == 403
    assert await status_for((reader if method != "GET" else writer).auth) == 403
    assert await status_for(stranger.auth) == foreign
    assert await status_for((writer if method != "GET" else reader).auth) == status


@pytest.mark.parametrize(("method", "path"), [(one[0], one[1]) for one in PATHS if one[1]])
async def test_unknown_and_deleted_ids_are_404(
    method: str, path: str, ask: Any, suite: dict[str, Any]
) -> None:
    await ask("DELETE", f"/{suite['id']}", 204)
    for suite_id in (UNKNOWN, "nonsense", suite["id"]):
        answer = await ask(method, path.format(id=suite_id), 404, {} if method in ("PATCH", "POST") else None)
        assert answer["code"] == "not_found"


async def test_strangers_list_is_empty(
    client: httpx.AsyncClient, stranger: Tenant, suite: dict[str, Any]
) -> None:
    assert suite
    assert (await client.get(URL, headers=stranger.auth)).json()["data"] == []


async def test_suite_is_told_whole_and_in_the_list_without_cases(
    ask: Any, suite: dict[str, Any], tests: list[str]
) -> None:
    assert (suite["name"], suite["version"], suite["case_count"], suite["splits"]) == (
        "Returns",
        1,
        3,
        ["smoke"],
    )
    assert suite["cases"][1] == {
        "id": tests[1],
        "kind": "simulated",
        "test_id": tests[1],
        "name": "Test 1",
        "splits": ["smoke"],
    }
    assert (suite["cron"], suite["schedule"], suite["enabled"]) == (None, None, True)
    assert (suite["next_run_at"], suite["last_skip"], suite["defaults"]) == (None, None, {})
    assert await ask("GET", f"/{suite['id']}") == suite
    [listed] = await ask("GET")
    assert listed == {name: suite[name] for name in suite if name not in ("cases", "defaults", "script")}


async def test_every_fault_of_a_body_is_named(ask: Any, tests: list[str], database: Database) -> None:
    other = await make_tests(database, await make_tenant(database, "Other"), 1)
    body = {
        "name": "Returns",
        "cases": [{"test_id": tests[0]}, {"test_id": UNKNOWN}, {"test_id": other[0]}, {"test_id": tests[0]}],
        "defaults": {"split": "smoke", "gateway": "nobody:1234"},
    }
    found = faults(await ask("POST", "", 400, body))
    assert set(found) == {
        "cases.1.test_id",
        "cases.2.test_id",
        "cases.3.test_id",
        "defaults.split",
        "defaults.gateway",
    }
    assert found["cases.1.test_id"] == found["cases.2.test_id"]
    assert await ask("GET") == []


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("name", {"name": " "}),
        ("cases", {"cases": []}),
        ("cases.0.kind", {"cases": [{"test_id": UNKNOWN, "kind": "spoken"}]}),
        ("cases.0.test_id", {"cases": [{"kind": "simulated"}]}),
        ("cases.0.splits.0", {"cases": [{"test_id": UNKNOWN, "splits": [""]}]}),
        ("cron", {"cron": "* * * * *"}),
        ("cron", {"cron": "@daily"}),
        ("defaults.repetitions", {"defaults": {"repetitions": 21}}),
        ("defaults.concurrency", {"defaults": {"concurrency": 0}}),
        ("defaults.budget_usd", {"defaults": {"budget_usd": 0}}),
        ("defaults.seed", {"defaults": {"seed": -1}}),
        ("defaults.commit", {"defaults": {"commit": "4f0c"}}),
        ("colour", {"colour": "red"}),
    ],
)
async def test_bodies_are_refused_with_their_field(
    field: str, change: dict[str, Any], ask: Any, tests: list[str]
) -> None:
    body = {"name": "Returns", "cases": [{"test_id": tests[0]}]} | change
    assert field in faults(await ask("POST", "", 400, body))


async def test_change_touches_what_is_sent(ask: Any, suite: dict[str, Any], tests: list[str]) -> None:
    path = f"/{suite['id']}"
    changed = await ask(
        "PATCH", path, 200, {"cron": "30 6 * * *", "description": "Nightly.", "defaults": {"repetitions": 2}}
    )
    assert (changed["version"], changed["cases"]) == (1, suite["cases"])
    assert (changed["schedule"], changed["description"]) == ("every day at 06:30 UTC", "Nightly.")
    assert changed["next_run_at"].endswith("06:30:00.000Z")
    assert changed["defaults"] == {"repetitions": 2}
    rested = await ask("PATCH", path, 200, {"enabled": False})
    assert (rested["cron"], rested["next_run_at"]) == ("30 6 * * *", None)
    fewer = await ask(
        "PATCH", path, 200, {"cases": [{"test_id": tests[2]}], "description": None, "cron": None}
    )
    assert (fewer["version"], fewer["case_count"], fewer["description"], fewer["cron"]) == (2, 1, None, None)


@pytest.mark.parametrize("field", ["name", "cases", "defaults", "enabled"])
async def test_null_is_refused_where_there_has_to_be_a_value(
    field: str, ask: Any, suite: dict[str, Any]
) -> None:
    assert set(faults(await ask("PATCH", f"/{suite['id']}", 400, {field: None}))) == {field}
    assert await ask("GET", f"/{suite['id']}") == suite


async def test_split_of_the_defaults_has_to_stay(ask: Any, suite: dict[str, Any], tests: list[str]) -> None:
    await ask("PATCH", f"/{suite['id']}", 200, {"defaults": {"split": "smoke"}})
    answer = await ask("PATCH", f"/{suite['id']}", 400, {"cases": [{"test_id": tests[0]}]})
    assert set(faults(answer)) == {"defaults.split"}


# Evaluations


async def test_evaluation_begins_with_frozen_cases(ask: Any, suite: dict[str, Any], tests: list[str]) -> None:
    body = {
        "split": "smoke",
        "repetitions": 3,
        "concurrency": 2,
        "budget_usd": 0.5,
        "seed": 7,
        "commit": "4f0c",
        "branch": "main",
        "pull_request": "12",
    }
    data = await ask("POST", f"/{suite['id']}/evaluations", 202, body)
    assert (data["kind"], data["suite_id"], data["dataset_id"]) == ("suite", suite["id"], None)
    assert (data["name"], data["version"], data["state"]) == ("Returns", 1, "in_progress")
    assert (data["split"], data["repetitions"], data["case_count"]) == ("smoke", 3, 2)
    assert (data["commit"], data["branch"], data["pull_request"]) == ("4f0c", "main", "12")
    assert data["statistics"]["expected_count"] == 6
    assert data["options"] == {"concurrency": 2, "budget_usd": 0.5, "gateway": None, "seed": 7}
    assert tests


async def test_defaults_hold_where_nothing_is_said(ask: Any, suite: dict[str, Any]) -> None:
    defaults = {"split": "smoke", "repetitions": 2, "concurrency": 3, "budget_usd": 1.25}
    await ask("PATCH", f"/{suite['id']}", 200, {"defaults": defaults})
    data = await ask("POST", f"/{suite['id']}/evaluations", 202, {"repetitions": 4})
    assert (data["split"], data["repetitions"]) == ("smoke", 4)
    assert (data["options"]["concurrency"], data["options"]["budget_usd"]) == (3, 1.25)
    assert isinstance(data["options"]["seed"], int)


async def test_empty_body_runs_all(ask: Any, suite: dict[str, Any]) -> None:
    data = await ask("POST", f"/{suite['id']}/evaluations", 202)
    assert (data["split"], data["case_count"], data["repetitions"]) == (None, 3, 1)


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("split", {"split": "unknown"}),
        ("gateway", {"gateway": "nobody:1234"}),
        ("gateway", {"gateway": "@nobody/nothing"}),
        ("repetitions", {"repetitions": 21}),
        ("concurrency", {"concurrency": 51}),
        ("commit", {"commit": ""}),
        ("judge", {"judge": {"profile": "high"}}),
    ],
)
async def test_starts_are_refused_with_their_field(
    field: str, body: dict[str, Any], ask: Any, suite: dict[str, Any], database: Database
) -> None:
    assert set(faults(await ask("POST", f"/{suite['id']}/evaluations", 400, body))) == {field}
    async with database.raw() as connection:
        assert await connection.fetch("SELECT FROM evaluations") == []


async def test_foreign_gateway_is_unknown(
    ask: Any, suite: dict[str, Any], stranger: Tenant, database: Database
) -> None:
    foreign = await make_gateway(database, stranger.scope, "Theirs")
    for reference in (foreign.slug, str(foreign.id)):
        answer = await ask("POST", f"/{suite['id']}/evaluations", 400, {"gateway": reference})
        assert set(faults(answer)) == {"gateway"}


async def test_deleted_test_is_named_at_the_start(
    ask: Any, client: httpx.AsyncClient, tenant: Tenant, suite: dict[str, Any], tests: list[str]
) -> None:
    await client.delete(f"/api/v1/agentic-tests/{tests[2]}", headers=tenant.auth)
    assert (await ask("GET", f"/{suite['id']}"))["cases"][2]["name"] is None
    answer = await ask("POST", f"/{suite['id']}/evaluations", 400)
    assert set(faults(answer)) == {"cases.2.test_id"}
    await ask("POST", f"/{suite['id']}/evaluations", 202, {"split": "smoke"})


async def test_start_without_credit_is_402(
    ask: Any, suite: dict[str, Any], tenant: Tenant, database: Database
) -> None:
    async with database.raw() as connection:
        await connection.execute(
            "UPDATE accounts SET balance = $1 WHERE id = $2", Decimal(0), tenant.account_id
        )
    assert (await ask("POST", f"/{suite['id']}/evaluations", 402))["code"] == "balance_exhausted"


async def test_same_idempotency_key_begins_one_evaluation(ask: Any, suite: dict[str, Any]) -> None:
    path, key = f"/{suite['id']}/evaluations", {"Idempotency-Key": "nightly-1"}
    first = await ask("POST", path, 202, {"seed": 1}, key)
    again = await ask("POST", path, 200, {"seed": 1}, key)
    assert again["id"] == first["id"]
    assert (await ask("POST", path, 409, {"seed": 2}, key))["code"] == "idempotency_conflict"


async def test_evaluations_of_a_suite_are_listed_and_stay_when_it_is_deleted(
    ask: Any, client: httpx.AsyncClient, tenant: Tenant, suite: dict[str, Any]
) -> None:
    made = await ask("POST", f"/{suite['id']}/evaluations", 202)
    await ask("DELETE", f"/{suite['id']}", 204)
    answer = await client.get(f"/api/v1/evaluations?suite={suite['id']}", headers=tenant.auth)
    assert [UUID(one["id"]) for one in answer.json()["data"]] == [UUID(made["id"])]
