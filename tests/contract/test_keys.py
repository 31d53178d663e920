"""`/api/v1/keys` and `/api/v1/whoami`, as owner, stranger, public key and nobody."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from sqlalchemy import text

from parley.server.accounts.tokens import new_token
from parley.server.db.database import Database
from parley.server.wiring import Services
from tests.factories.accounts import Tenant, bearer, make_key

WHOAMI = "/api/v1/whoami"


def basic(token: str) -> dict[str, str]:
    """The key as a password."""
    return {"Authorization": "Basic " + base64.b64encode(f"any:{token}".encode()).decode()}


async def test_whoami_answers_every_way_to_send_a_key(client: httpx.AsyncClient, tenant: Tenant) -> None:
    token = tenant.private.token
    answers = [
        await client.get(WHOAMI, headers=bearer(token)),
        await client.get(WHOAMI, headers=basic(token)),
        await client.get(WHOAMI, headers={"x-api-key": token}),
        await client.get(WHOAMI, params={"api-key": token}),
    ]
    assert [answer.status_code for answer in answers] == [200] * 4
    assert {answer.json()["data"]["key_id"] for answer in answers} == {str(tenant.private.id)}


async def test_whoami_answers_a_public_key(client: httpx.AsyncClient, tenant: Tenant) -> None:
    answer = await client.get(WHOAMI, headers=tenant.public.auth)
    assert answer.status_code == 200
    assert answer.json()["data"]["kind"] == "public"
    assert answer.json()["data"]["scopes"] == []


async def test_missing_key_is_told_how_to_send_one(client: httpx.AsyncClient) -> None:
    answer = await client.get(WHOAMI)
    assert (answer.status_code, answer.json()["code"]) == (401, "missing_api_key")
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "headers",
    [
        bearer(new_token("private")),
        bearer("sk-par-short"),
        bearer("nonsense"),
        {"Authorization": "Basic %%%"},
        {"Authorization": "Digest abc"},
        {"x-api-key": "päivää".encode("latin-1").decode("latin-1")},
    ],
    ids=["unknown", "short", "no-key", "bad-base64", "other-scheme", "not-ascii"],
)
async def test_key_that_is_not_known_is_refused(client: httpx.AsyncClient, headers: dict[str, str]) -> None:
    sent = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    answer = await client.get(WHOAMI, headers=sent)
    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_api_key")


async def test_two_different_keys_are_refused(client: httpx.AsyncClient, tenant: Tenant) -> None:
    both = tenant.auth | {"x-api-key": tenant.public.token}
    assert (await client.get(WHOAMI, headers=both)).status_code == 401
    same = tenant.auth | {"x-api-key": tenant.private.token}
    assert (await client.get(WHOAMI, headers=same)).status_code == 200


async def test_expired_key_is_refused(client: httpx.AsyncClient, tenant: Tenant, database: Database) -> None:
    soon = datetime.now(UTC) - timedelta(seconds=1)
    key = await make_key(database, tenant.account_id, expires_at=soon)
    assert (await client.get(WHOAMI, headers=key.auth)).status_code == 401


async def test_revoked_key_is_refused_at_once(client: httpx.AsyncClient, tenant: Tenant) -> None:
    made = (await client.post("/api/v1/keys", headers=tenant.auth, json={"name": "x"})).json()["data"]
    assert (await client.get(WHOAMI, headers=bearer(made["key"]))).status_code == 200
    for _ in range(2):
        gone = await client.delete(f"/api/v1/keys/{made['id']}", headers=tenant.auth)
        assert gone.status_code == 204
    assert (await client.get(WHOAMI, headers=bearer(made["key"]))).status_code == 401


async def test_revocation_reaches_another_process_and_its_streams(services: Services, tenant: Tenant) -> None:
    caller = await services.authenticator.authenticate(tenant.private.token)
    async with services.database.session() as session:
        await session.execute(text("UPDATE api_keys SET revoked_at = now()"))
    assert await services.authenticator.is_current(caller)  # remembered, for a few seconds
    services.authenticator.forget(caller.key_id)
    assert not await services.authenticator.is_current(caller)


async def test_suspended_account_may_only_ask_who_it_is(
    client: httpx.AsyncClient, tenant: Tenant, database: Database
) -> None:
    async with database.session() as session:
        await session.execute(text("UPDATE accounts SET status = 'suspended'"))
    answer = await client.get("/api/v1/keys", headers=tenant.auth)
    assert (answer.status_code, answer.json()["code"]) == (403, "account_suspended")
    assert (await client.get(WHOAMI, headers=tenant.auth)).json()["data"]["status"] == "suspended"


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/api/v1/keys"), ("POST", "/api/v1/keys"), ("DELETE", "/api/v1/keys/{id}")],
)
async def test_keys_want_a_private_key(
    client: httpx.AsyncClient, tenant: Tenant, method: str, path: str
) -> None:
    url = path.format(id=tenant.private.id)
    body = {"name": "x"} if method == "POST" else None
    as_public = await client.request(method, url, headers=tenant.public.auth, json=body)
    assert (as_public.status_code, as_public.json()["code"]) == (403, "public_key_refused")
    assert (await client.request(method, url, json=body)).status_code == 401


async def test_key_of_another_account_is_unknown(
    client: httpx.AsyncClient, tenant: Tenant, stranger: Tenant
) -> None:
    foreign = await client.delete(f"/api/v1/keys/{tenant.private.id}", headers=stranger.auth)
    unknown = await client.delete("/api/v1/keys/01a22cd1-1c69-7435-8e3a-8a2be0d79950", headers=stranger.auth)
    no_id = await client.delete("/api/v1/keys/x", headers=stranger.auth)
    assert foreign.status_code == unknown.status_code == no_id.status_code == 404
    assert foreign.json() == unknown.json() == no_id.json()
    assert (await client.get(WHOAMI, headers=tenant.auth)).status_code == 200
    listed = (await client.get("/api/v1/keys", headers=stranger.auth)).json()["data"]
    assert {key["id"] for key in listed} == {str(stranger.private.id), str(stranger.public.id)}


async def test_key_makes_keys_of_its_scopes_or_fewer(
    client: httpx.AsyncClient, tenant: Tenant, database: Database
) -> None:
    key = await make_key(database, tenant.account_id, scopes=["account:write", "tests:read"])
    fewer = await client.post("/api/v1/keys", headers=key.auth, json={"name": "x", "scopes": ["tests:read"]})
    assert (fewer.status_code, fewer.json()["data"]["scopes"]) == (201, ["tests:read"])
    as_its_own = await client.post("/api/v1/keys", headers=key.auth, json={"name": "x"})
    assert as_its_own.json()["data"]["scopes"] == ["tests:read", "account:write"]
    more = await client.post("/api/v1/keys", headers=key.auth, json={"name": "x", "scopes": ["runs:write"]})
    assert (more.status_code, more.json()["details"]) == (403, {"scopes": ["runs:write"]})
    may_not_list = await client.get("/api/v1/keys", headers=key.auth)
    assert (may_not_list.status_code, may_not_list.json()["code"]) == (403, "scope_missing")


async def test_key_is_shown_once_and_stored_as_a_digest(
    client: httpx.AsyncClient, tenant: Tenant, database: Database
) -> None:
    made = (await client.post("/api/v1/keys", headers=tenant.auth, json={"name": "x"})).json()["data"]
    listed = (await client.get("/api/v1/keys", headers=tenant.auth)).text
    assert made["key"] not in listed
    async with database.session() as session:
        stored = str((await session.execute(text("SELECT * FROM api_keys"))).all())
    assert made["key"] not in stored
    assert made["key"][7:30] not in stored


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": "  "}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": 1}, "name"),
        ({"name": "x", "kind": "secret"}, "kind"),
        ({"name": "x", "scopes": ["all"]}, "scopes.0"),
        ({"name": "x", "scopes": "judge"}, "scopes"),
        ({"name": "x", "kind": "public", "scopes": ["judge"]}, "scopes"),
        ({"name": "x", "expires_at": "2027-01-01"}, "expires_at"),
        ({"name": "x", "expires_at": "2027-01-01T00:00:00"}, "expires_at"),
        ({"name": "x", "expires_at": 1_900_000_000}, "expires_at"),
        ({"name": "x", "expires_at": "2001-01-01T00:00:00Z"}, "expires_at"),
        ({"name": "x", "account_id": "01a22cd1-1c69-7435-8e3a-8a2be0d79950"}, "account_id"),
    ],
)
async def test_bad_key_names_its_field(
    client: httpx.AsyncClient, tenant: Tenant, body: dict[str, object], field: str
) -> None:
    answer = await client.post("/api/v1/keys", headers=tenant.auth, json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert [line["field"] for line in answer.json()["details"]] == [field]


async def test_list_is_paged_newest_first(
    client: httpx.AsyncClient, tenant: Tenant, database: Database
) -> None:
    made = [str((await make_key(database, tenant.account_id)).id) for _ in range(3)]
    newest_first = [*reversed(made), str(tenant.public.id), str(tenant.private.id)]
    found: list[str] = []
    cursor: str | None = None
    for _ in range(3):
        params = {"limit": "2"} | ({"cursor": cursor} if cursor else {})
        page = (await client.get("/api/v1/keys", headers=tenant.auth, params=params)).json()
        found += [key["id"] for key in page["data"]]
        cursor = page["page"]["next_cursor"]
        assert page["page"]["has_more"] == (cursor is not None)
    assert found == newest_first
    by_offset = await client.get("/api/v1/keys", headers=tenant.auth, params={"limit": 2, "offset": 2})
    assert [key["id"] for key in by_offset.json()["data"]] == newest_first[2:4]
    for asked, clamped in ((0, 1), (-5, 1), (1000, 100)):
        page = (await client.get("/api/v1/keys", headers=tenant.auth, params={"limit": asked})).json()
        assert page["page"]["limit"] == clamped


@pytest.mark.parametrize(
    "params", [{"cursor": "!"}, {"limit": "ten"}, {"offset": "1e9"}, {"offset": "20000"}]
)
async def test_bad_paging_names_its_parameter(
    client: httpx.AsyncClient, tenant: Tenant, params: dict[str, str]
) -> None:
    answer = await client.get("/api/v1/keys", headers=tenant.auth, params=params)
    assert answer.status_code == 400
    assert [line["field"] for line in answer.json()["details"]] == list(params)


async def test_last_use_is_noted_apart_from_the_request(
    client: httpx.AsyncClient, services: Services, tenant: Tenant
) -> None:
    await client.get(WHOAMI, headers=tenant.auth)
    await services.last_used.flush()
    keys = (await client.get("/api/v1/keys", headers=tenant.auth)).json()["data"]
    used = {key["id"]: key["last_used_at"] for key in keys}
    assert used[str(tenant.private.id)] is not None
    assert used[str(tenant.public.id)] is None
    await services.last_used.flush()
    again = (await client.get("/api/v1/keys", headers=tenant.auth)).json()["data"]
    assert {key["id"]: key["last_used_at"] for key in again} == used
