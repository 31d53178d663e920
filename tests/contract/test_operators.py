"""`/admin/v1`: its token, what operators do, and the record of it."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any
from uuid import UUID

import httpx
import pytest
from fastapi.routing import APIRoute
from pydantic import SecretStr, ValidationError

from parley.server.api import operated_retention, serve
from parley.server.api.operators_app import create_operators_app
from parley.server.config import AdminSettings, Settings
from parley.server.db.database import Database
from parley.server.kit.ids import new_id
from parley.server.operators.endpoints import router
from parley.server.runs.admit import admit_waiting
from parley.server.wiring import Services, open_services
from tests.conftest import serving
from tests.factories.accounts import Tenant, bearer
from tests.factories.agentic_tests import make_agentic_test, make_gateway

TOKEN = "an operator's token for tests, long enough"
ACCOUNTS = "/admin/v1/accounts"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """The operators' API is on."""
    return dataclasses.replace(settings, admin=AdminSettings(port=0, token=SecretStr(TOKEN)))


@pytest.fixture
async def operator(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    """A client with the token."""
    transport = httpx.ASGITransport(create_operators_app(services), raise_app_exceptions=False)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://admin.test", headers=bearer(TOKEN)
    ) as found:
        yield found


async def acts(operator: httpx.AsyncClient, **params: str) -> list[dict[str, Any]]:
    """The record, oldest first."""
    found: list[dict[str, Any]] = (await operator.get("/admin/v1/acts", params=params)).json()["data"]
    return found[::-1]


async def data_of(answer: httpx.Response, status: int = 200) -> Any:
    """What a request that went well answered."""
    assert answer.status_code == status, answer.text
    return answer.json()["data"]


SOME_ID = "01a22cd1-1c69-7435-8e3a-8a2be0d79950"
ROUTES = [
    ("POST", ACCOUNTS),
    ("GET", ACCOUNTS),
    ("GET", f"{ACCOUNTS}/{SOME_ID}"),
    ("PATCH", f"{ACCOUNTS}/{SOME_ID}"),
    ("POST", f"{ACCOUNTS}/{SOME_ID}/suspend"),
    ("POST", f"{ACCOUNTS}/{SOME_ID}/unsuspend"),
    ("GET", f"{ACCOUNTS}/{SOME_ID}/limits"),
    ("GET", f"{ACCOUNTS}/{SOME_ID}/overrides"),
    ("PUT", f"{ACCOUNTS}/{SOME_ID}/overrides"),
    ("GET", f"{ACCOUNTS}/{SOME_ID}/retention"),
    ("PUT", f"{ACCOUNTS}/{SOME_ID}/retention"),
    ("GET", f"{ACCOUNTS}/{SOME_ID}/usage"),
    ("POST", f"{ACCOUNTS}/{SOME_ID}/credits"),
    ("POST", f"{ACCOUNTS}/{SOME_ID}/adjustments"),
    ("GET", f"{ACCOUNTS}/{SOME_ID}/keys"),
    ("POST", f"{ACCOUNTS}/{SOME_ID}/keys"),
    ("DELETE", f"{ACCOUNTS}/{SOME_ID}/keys/{SOME_ID}"),
    ("GET", "/admin/v1/plans"),
    ("PATCH", "/admin/v1/plans/free"),
    ("GET", "/admin/v1/runs/stuck"),
    ("POST", f"/admin/v1/runs/{SOME_ID}/release"),
    ("GET", "/admin/v1/acts"),
    ("GET", "/admin/v1/books"),
]


# The token


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_every_route_wants_the_token_before_anything_else(
    operator: httpx.AsyncClient, tenant: Tenant, method: str, path: str
) -> None:
    wrong: list[dict[str, str]] = [
        {"Authorization": ""},
        bearer(TOKEN[:-1]),
        bearer(TOKEN + "x"),
        bearer(""),
        tenant.auth,
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": "", "x-api-key": TOKEN},
    ]
    for headers in wrong:
        answer = await operator.request(method, path, headers=headers, content=b"{not json")
        assert (answer.status_code, answer.json()["code"]) == (401, "operator_token_refused")
        assert "www-authenticate" in answer.headers
    raw = await operator.request(method, path, headers=[(b"authorization", b"Bearer \xff\xfe")])
    assert raw.status_code == 401
    in_query = await operator.request(method, path, headers={"Authorization": ""}, params={"api-key": TOKEN})
    assert in_query.status_code == 401


def test_routes_of_the_test_are_all_there_are() -> None:
    ids = {"account_id": SOME_ID, "key_id": SOME_ID, "run_id": SOME_ID, "code": "free"}
    found = {
        (method, route.path.format(**ids))
        for route in (*router.routes, *operated_retention.router.routes)
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }
    assert found == set(ROUTES)


async def test_operators_api_is_not_on_the_public_address_nor_the_other_way(
    client: httpx.AsyncClient, operator: httpx.AsyncClient, tenant: Tenant
) -> None:
    for headers in (bearer(TOKEN), tenant.auth):
        assert (await client.get(ACCOUNTS, headers=headers)).status_code == 404
    assert (await client.get("/api/v1/whoami", headers=bearer(TOKEN))).status_code == 401
    for path in ("/api/v1/whoami", "/docs", "/openapi.json"):
        assert (await operator.get(path)).status_code == 404
    document = (await client.get("/openapi.json")).json()
    assert not [path for path in document["paths"] if path.startswith("/admin")]


def test_short_token_stops_the_start() -> None:
    with pytest.raises(ValidationError, match="32 characters"):
        AdminSettings(token=SecretStr("short"))


async def test_it_is_off_without_a_token(settings: Settings) -> None:
    off = dataclasses.replace(settings, admin=AdminSettings(port=0, token=SecretStr("")))
    async with open_services(off) as services:
        with pytest.raises(ValueError, match="PARLEY_ADMIN_TOKEN"):
            create_operators_app(services)


async def test_it_listens_beside_the_api_and_stops_with_it(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[serve.Server] = []
    original = serve.server_of

    def remembered(of: Services) -> serve.Server:
        made.append(original(of))
        return made[-1]

    monkeypatch.setattr("tests.conftest.server_of", remembered)
    async with serving(services) as url, httpx.AsyncClient(headers=bearer(TOKEN)) as http:
        beside = made[0].operators
        assert beside is not None
        while not beside.started:
            assert (await http.get(f"{url}/livez")).status_code == 200
        port = beside.servers[0].sockets[0].getsockname()[1]
        assert (await http.get(f"http://127.0.0.1:{port}/admin/v1/plans")).status_code == 200
        assert (await http.get(f"{url}/admin/v1/plans")).status_code == 404
    async with httpx.AsyncClient() as http:
        with pytest.raises(httpx.ConnectError):
            await http.get(f"http://127.0.0.1:{port}/admin/v1/plans")


# Accounts and keys


async def test_account_is_made_with_its_first_keys_and_credit(
    operator: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    body = {"name": "Example Ltd", "plan": "pro", "credit": 12.5}
    made = await data_of(await operator.post(ACCOUNTS, json=body), 201)
    assert (made["name"], made["plan"], made["balance"], made["status"]) == (
        "Example Ltd",
        "pro",
        12.5,
        "active",
    )
    who = (await client.get("/api/v1/whoami", headers=bearer(made["private_key"]))).json()["data"]
    assert (who["account_id"], who["kind"], len(who["scopes"])) == (made["id"], "private", 7)
    public = (await client.get("/api/v1/whoami", headers=bearer(made["public_key"]))).json()["data"]
    assert public["kind"] == "public"
    for shown in (f"{ACCOUNTS}/{made['id']}", ACCOUNTS, "/admin/v1/acts", f"{ACCOUNTS}/{made['id']}/keys"):
        text = (await operator.get(shown)).text
        assert made["private_key"] not in text
    [act] = await acts(operator)
    assert (act["act"], act["via"], act["account_id"]) == ("account.create", "api", made["id"])
    assert act["details"] == {"name": "Example Ltd", "plan": "pro", "credit": "12.500000000"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": " "}, "name"),
        ({"name": "x", "plan": "gold"}, "plan"),
        ({"name": "x", "credit": -1}, "credit"),
        ({"name": "x", "credit": "5"}, "credit"),
        ({"name": "x", "credit": 1_000_001}, "credit"),
        ({"name": "x", "balance": 5}, "balance"),
    ],
)
async def test_bad_account_names_its_field_and_leaves_no_record(
    operator: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    answer = await operator.post(ACCOUNTS, json=body)
    assert answer.status_code == 400
    assert [line["field"] for line in answer.json()["details"]] == [field]
    assert await acts(operator) == []


async def test_accounts_are_found_by_part_of_their_name(
    operator: httpx.AsyncClient, tenant: Tenant, stranger: Tenant
) -> None:
    everyone = await data_of(await operator.get(ACCOUNTS))
    assert [one["id"] for one in everyone] == [str(stranger.account_id), str(tenant.account_id)]
    found = await data_of(await operator.get(ACCOUNTS, params={"search": "TRANG"}))
    assert [one["name"] for one in found] == ["Stranger"]
    assert await data_of(await operator.get(ACCOUNTS, params={"search": "%"})) == []
    page = (await operator.get(ACCOUNTS, params={"limit": "1"})).json()["page"]
    rest = await operator.get(ACCOUNTS, params={"cursor": page["next_cursor"]})
    assert [one["name"] for one in await data_of(rest)] == ["Owner"]


async def test_suspension_stops_starts_and_is_recorded(
    operator: httpx.AsyncClient, client: httpx.AsyncClient, services: Services, tenant: Tenant
) -> None:
    about = f"{ACCOUNTS}/{tenant.account_id}"
    for _ in range(2):
        assert (await data_of(await operator.post(f"{about}/suspend")))["status"] == "suspended"
    refused = await client.get("/api/v1/keys", headers=tenant.auth)
    assert (refused.status_code, refused.json()["code"]) == (403, "account_suspended")
    assert (await data_of(await operator.post(f"{about}/unsuspend")))["status"] == "active"
    services.authenticator.forget(tenant.private.id)
    assert (await client.get("/api/v1/keys", headers=tenant.auth)).status_code == 200
    told = [act["act"] for act in await acts(operator, account_id=str(tenant.account_id))]
    assert told == ["account.suspend", "account.suspend", "account.unsuspend"]


async def test_plan_of_an_account_is_changed(operator: httpx.AsyncClient, tenant: Tenant) -> None:
    about = f"{ACCOUNTS}/{tenant.account_id}"
    assert (await data_of(await operator.patch(about, json={"plan": "free"})))["plan"] == "free"
    assert (await data_of(await operator.get(f"{about}/limits")))["runs_per_minute"]["limit"] == 5
    unknown = await operator.patch(about, json={"plan": "gold"})
    assert unknown.json()["details"][0]["field"] == "plan"
    [act] = await acts(operator)
    assert act["details"] == {"plan": "free", "before": "max"}


async def test_account_has_limits_of_its_own_until_they_are_taken_back(
    operator: httpx.AsyncClient, client: httpx.AsyncClient, tenant: Tenant, stranger: Tenant
) -> None:
    about = f"{ACCOUNTS}/{tenant.account_id}"
    own = {"runs_per_minute": 2, "concurrent_runs": 3}
    assert await data_of(await operator.put(f"{about}/overrides", json=own)) == own
    assert await data_of(await operator.get(f"{about}/overrides")) == own
    await operator.patch(about, json={"plan": "pro"})
    assert await limits_seen_by(client, tenant) == (2, 3, 3), "they outlast a change of plan"
    assert await limits_seen_by(client, stranger) == (None, 8, 8)
    await data_of(await operator.put(f"{about}/overrides", json={"concurrent_runs": 20}))
    assert await limits_seen_by(client, tenant) == (30, 20, 20)
    await data_of(await operator.put(f"{about}/overrides", json={}))
    assert await limits_seen_by(client, tenant) == (30, 4, 4)
    told = [act["details"] for act in await acts(operator) if act["act"] == "account.limits"]
    assert told[0] == own | {"runs_per_minute_before": None, "concurrent_runs_before": None}
    assert told[1] == {
        "runs_per_minute": None,
        "concurrent_runs": 20,
        "runs_per_minute_before": 2,
        "concurrent_runs_before": 3,
    }
    assert len(told) == 3


async def limits_seen_by(client: httpx.AsyncClient, tenant: Tenant) -> tuple[int | None, int, int]:
    """Starts a minute, runs at once, direct evaluations at once, as the account itself reads them."""
    data = (await client.get("/api/v1/limits", headers=tenant.auth)).json()["data"]
    return tuple(data[name]["limit"] for name in ("runs_per_minute", "concurrent_runs", "concurrent_direct"))


async def test_own_limits_decide_about_starts_and_slots(
    operator: httpx.AsyncClient, client: httpx.AsyncClient, tenant: Tenant, database: Database
) -> None:
    gateway = await make_gateway(database, tenant.scope)
    test_id = await make_agentic_test(database, tenant.scope, gateway.slug)
    path = f"/api/v1/agentic-tests/{test_id}/runs"
    about = f"{ACCOUNTS}/{tenant.account_id}/overrides"
    await operator.put(about, json={"runs_per_minute": 3, "concurrent_runs": 2})
    started = [await client.post(path, headers=tenant.auth) for _ in range(4)]
    assert [answer.status_code for answer in started] == [202, 202, 202, 429]
    assert started[3].json()["code"] == "quota_exhausted"
    slots = (await client.get("/api/v1/limits", headers=tenant.auth)).json()["data"]["concurrent_runs"]
    assert slots == {"limit": 2, "in_use": 2, "waiting": 1}
    await operator.put(about, json={"concurrent_runs": 3})
    assert len(await admit_waiting(database)) == 1, "the sweep fills the new slot"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"runs_per_minute": 0}, "runs_per_minute"),
        ({"runs_per_minute": 1_000_001}, "runs_per_minute"),
        ({"runs_per_minute": True}, "runs_per_minute"),
        ({"concurrent_runs": 0}, "concurrent_runs"),
        ({"concurrent_runs": 1.5}, "concurrent_runs"),
        ({"multiplier": 1}, "multiplier"),
    ],
)
async def test_bad_limit_of_an_account_is_named(
    operator: httpx.AsyncClient, tenant: Tenant, body: dict[str, Any], field: str
) -> None:
    answer = await operator.put(f"{ACCOUNTS}/{tenant.account_id}/overrides", json=body)
    assert answer.status_code == 400
    assert [line["field"] for line in answer.json()["details"]] == [field]
    assert await acts(operator) == []


async def test_runs_of_an_account_are_kept_for_another_time(
    operator: httpx.AsyncClient, tenant: Tenant
) -> None:
    about = f"{ACCOUNTS}/{tenant.account_id}/retention"
    assert await data_of(await operator.get(about)) == {"days": None}
    assert await data_of(await operator.put(about, json={"days": 365})) == {"days": 365}
    assert await data_of(await operator.get(about)) == {"days": 365}
    assert await data_of(await operator.put(about, json={"days": None})) == {"days": None}
    for bad in ({}, {"days": 0}, {"days": 36_501}, {"days": "3"}):
        answer = await operator.put(about, json=bad)
        assert (answer.status_code, answer.json()["details"][0]["field"]) == (400, "days")
    told = [(act["act"], act["via"], act["details"]) for act in await acts(operator)]
    assert told == [
        ("account.retention", "api", {"days": 365, "before": None}),
        ("account.retention", "api", {"days": None, "before": 365}),
    ]


async def test_keys_are_made_listed_and_revoked(
    operator: httpx.AsyncClient, client: httpx.AsyncClient, tenant: Tenant, stranger: Tenant
) -> None:
    about = f"{ACCOUNTS}/{tenant.account_id}/keys"
    made = await data_of(await operator.post(about, json={"name": "for ops", "scopes": ["tests:read"]}), 201)
    who = await client.get("/api/v1/whoami", headers=bearer(made["key"]))
    assert who.json()["data"]["scopes"] == ["tests:read"]
    assert len(await data_of(await operator.get(about))) == 3
    foreign = await operator.delete(f"{ACCOUNTS}/{stranger.account_id}/keys/{made['id']}")
    assert foreign.status_code == 404
    assert (await operator.delete(f"{about}/{made['id']}")).status_code == 204
    assert (await client.get("/api/v1/whoami", headers=bearer(made["key"]))).status_code == 401
    public = await operator.post(about, json={"kind": "public", "scopes": ["judge"]})
    assert public.json()["details"][0]["field"] == "scopes"
    record = await acts(operator)
    assert [act["act"] for act in record] == ["key.create", "key.revoke"]
    assert made["key"] not in str(record)


@pytest.mark.parametrize(
    ("method", "path"),
    [(method, path) for method, path in ROUTES if SOME_ID in path and "/keys/" not in path],
)
async def test_unknown_ids_are_404_and_leave_no_record(
    operator: httpx.AsyncClient, method: str, path: str
) -> None:
    bodies = {"credits": {"amount": 1}, "adjustments": {"amount": 1, "note": "x"}, "keys": {}}
    bodies |= {"overrides": {}, "retention": {"days": 3}}
    body = {"plan": "free"} if method == "PATCH" else bodies.get(path.rpartition("/")[2])
    answer = await operator.request(method, path, json=None if method in ("GET", "DELETE") else body)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert await acts(operator) == []


# Money


async def test_money_moves_with_its_line_and_its_record(
    operator: httpx.AsyncClient, database: Database, tenant: Tenant
) -> None:
    about = f"{ACCOUNTS}/{tenant.account_id}"
    credit = await operator.post(f"{about}/credits", json={"amount": 0.1, "note": "invoice 1041"})
    assert (await data_of(credit, 201))["balance"] == 100.1
    taken = await operator.post(f"{about}/adjustments", json={"amount": -0.3, "note": "a mistake of ours"})
    assert (await data_of(taken, 201))["balance"] == 99.8
    async with database.raw() as connection:
        lines = await connection.fetch("SELECT source, amount, note FROM ledger ORDER BY created_at OFFSET 1")
    assert [(line["source"], line["amount"], line["note"]) for line in lines] == [
        ("credit", Decimal("0.1"), "invoice 1041"),
        ("adjustment", Decimal("-0.3"), "a mistake of ours"),
    ]
    assert [act["act"] for act in await acts(operator)] == ["money.credit", "money.adjustment"]
    assert await data_of(await operator.get("/admin/v1/books")) == []


async def test_money_with_a_reference_moves_once(operator: httpx.AsyncClient, tenant: Tenant) -> None:
    """C189"""
    about = f"{ACCOUNTS}/{tenant.account_id}/credits"
    body = {"amount": 5, "reference": str(new_id())}
    for _ in range(3):
        assert (await data_of(await operator.post(about, json=body), 201))["balance"] == 105
    other = await operator.post(about, json=body | {"amount": 6})
    assert other.json()["details"][0]["field"] == "reference"
    assert await data_of(await operator.get("/admin/v1/books")) == []


@pytest.mark.parametrize(
    ("kind", "body", "field"),
    [
        ("credits", {"amount": 0}, "amount"),
        ("credits", {"amount": -1}, "amount"),
        ("credits", {"amount": 1e-12}, "amount"),
        ("credits", {"amount": True}, "amount"),
        ("credits", {"amount": 1_000_001}, "amount"),
        ("adjustments", {"amount": 1}, "note"),
        ("adjustments", {"amount": 0, "note": "x"}, "amount"),
        ("adjustments", {"amount": "1", "note": "x"}, "amount"),
    ],
)
async def test_amount_that_cannot_be_meant_is_refused(
    operator: httpx.AsyncClient, tenant: Tenant, kind: str, body: dict[str, Any], field: str
) -> None:
    answer = await operator.post(f"{ACCOUNTS}/{tenant.account_id}/{kind}", json=body)
    assert answer.status_code == 400
    assert [line["field"] for line in answer.json()["details"]] == [field]


async def test_books_that_differ_are_told(
    operator: httpx.AsyncClient, database: Database, tenant: Tenant
) -> None:
    async with database.raw() as connection:
        await connection.execute(
            "UPDATE accounts SET balance = balance + 0.000000001 WHERE id = $1", tenant.account_id
        )
    [found] = await data_of(await operator.get("/admin/v1/books"))
    assert found == {"account_id": str(tenant.account_id), "balance": 100.000000001, "ledger": 100.0}


async def test_usage_of_an_account_is_what_the_account_sees(
    operator: httpx.AsyncClient, client: httpx.AsyncClient, tenant: Tenant
) -> None:
    params = {"time_start": "2026-11-01", "time_end": "2026-12-01"}
    seen = await data_of(await operator.get(f"{ACCOUNTS}/{tenant.account_id}/usage", params=params))
    own = await client.get("/api/v1/information/usage", headers=tenant.auth, params=params)
    assert seen == own.json()["data"]
    sheet = await operator.get(f"{ACCOUNTS}/{tenant.account_id}/usage", params=params | {"format": "csv"})
    assert sheet.text.startswith("day,role,model")


# Plans


class TestPlans:
    """On a database of their own: plans are shared."""

    @pytest.fixture
    async def database_url(self, fresh_database_url: str) -> str:
        return fresh_database_url

    async def test_plan_is_edited_for_the_next_start(
        self, operator: httpx.AsyncClient, client: httpx.AsyncClient, tenant: Tenant
    ) -> None:
        changes = {"runs_per_minute": 1, "multiplier": 1.5, "metered": False, "integrated_tokens_per_day": 5}
        edited = await data_of(await operator.patch("/admin/v1/plans/max", json=changes))
        assert (
            edited
            == {
                "code": "max",
                "concurrent_runs": 8,
                "resources_per_test": 16,
                "integrated_requests_per_day": None,
            }
            | changes
        )
        limits = (await client.get("/api/v1/limits", headers=tenant.auth)).json()["data"]
        assert (limits["runs_per_minute"]["limit"], limits["metered"]) == (1, False)
        lifted = await data_of(await operator.patch("/admin/v1/plans/max", json={"runs_per_minute": None}))
        assert (lifted["runs_per_minute"], lifted["multiplier"]) == (None, 1.5)
        assert [act["details"]["code"] for act in await acts(operator)] == ["max", "max"]
        plans = await data_of(await operator.get("/admin/v1/plans"))
        assert [plan["code"] for plan in plans] == ["free", "max", "pro"]

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"runs_per_minute": 0}, "runs_per_minute"),
            ({"concurrent_runs": None}, "concurrent_runs"),
            ({"concurrent_runs": 0}, "concurrent_runs"),
            ({"multiplier": -1}, "multiplier"),
            ({"multiplier": 1.00001}, "multiplier"),
            ({"metered": "no"}, "metered"),
            ({"resources_per_test": 17}, "resources_per_test"),
            ({"code": "gold"}, "code"),
        ],
    )
    async def test_bad_term_is_named(
        self, operator: httpx.AsyncClient, body: dict[str, Any], field: str
    ) -> None:
        answer = await operator.patch("/admin/v1/plans/free", json=body)
        assert [line["field"] for line in answer.json()["details"]] == [field]

    async def test_unknown_plan_is_404(self, operator: httpx.AsyncClient) -> None:
        assert (await operator.patch("/admin/v1/plans/gold", json={"metered": True})).status_code == 404


# Stuck runs


async def stuck_run(database: Database, tenant: Tenant, state: str, lease_s: float | None) -> UUID:
    """A run admitted an hour ago."""
    gateway = await make_gateway(database, tenant.scope)
    test_id = await make_agentic_test(database, tenant.scope, gateway.slug)
    run_id = new_id()
    async with database.raw() as connection:
        await connection.execute(
            "INSERT INTO runs (account_id, id, test_id, state, trigger, revision, seed, definition,"
            " admitted_at, started_at, lease_token, lease_until)"
            " VALUES ($1, $2, $3, $4, 'manual', 'r', 1, '{}',"
            " now() - interval '1 hour', now() - interval '1 hour', $5, now() + make_interval(secs => $6))",
            *(tenant.account_id, run_id, test_id, state, None if lease_s is None else new_id(), lease_s),
        )
    return run_id


async def test_stuck_runs_are_listed_and_released(
    operator: httpx.AsyncClient, database: Database, tenant: Tenant
) -> None:
    held = await stuck_run(database, tenant, "running", 30.0)
    await stuck_run(database, tenant, "succeeded", None)
    [found] = await data_of(await operator.get("/admin/v1/runs/stuck"))
    assert (found["id"], found["state"], found["has_worker"]) == (str(held), "running", True)
    assert 3_500 < found["quiet_s"] < 3_700
    assert await data_of(await operator.get("/admin/v1/runs/stuck", params={"quiet_s": "7200"})) == []
    assert (await operator.post(f"/admin/v1/runs/{held}/release")).status_code == 204
    async with database.raw() as connection:
        row = await connection.fetchrow(
            "SELECT state, lease_token, lease_until FROM runs WHERE id = $1", held
        )
    assert tuple(row or ()) == ("running", None, None)
    [act] = await acts(operator)
    assert (act["act"], act["account_id"]) == ("run.release", str(tenant.account_id))


async def test_run_that_holds_no_slot_is_not_released(
    operator: httpx.AsyncClient, database: Database, tenant: Tenant
) -> None:
    ended = await stuck_run(database, tenant, "cancelled", None)
    assert (await operator.post(f"/admin/v1/runs/{ended}/release")).status_code == 404
