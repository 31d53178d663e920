"""Sessions of browsers: how they open, what they may, what they have to show, how they end."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from parley.server.api.app import create_app
from parley.server.config import Settings
from parley.server.db.database import Database
from parley.server.wiring import Services, open_services
from tests.conftest import LiveServer
from tests.factories.accounts import Tenant, make_key, make_tenant

SESSION = "/api/v1/session"
TESTS = "/api/v1/agentic-tests"
WHOAMI = "/api/v1/whoami"
OWN = {"Sec-Fetch-Site": "same-origin", "X-Parley-Client": "dashboard"}


async def opened(client: httpx.AsyncClient, tenant: Tenant) -> dict[str, Any]:
    """Sign the client's cookie jar in; the session that speaks."""
    answer = await client.post(SESSION, json={"key": tenant.private.token}, headers=OWN)
    assert answer.status_code == 201, answer.text
    return current(answer)


def current(answer: httpx.Response) -> dict[str, Any]:
    """The session that speaks."""
    [one] = [one for one in answer.json()["data"] if one["is_current"]]
    found: dict[str, Any] = one
    return found


async def account_of(client: httpx.AsyncClient) -> str:
    """Whose the client's requests are."""
    answer = await client.get(WHOAMI, headers=OWN)
    assert answer.status_code == 200, answer.text
    account_id: str = answer.json()["data"]["account_id"]
    return account_id


async def test_key_opens_a_session_that_may_what_the_key_may(
    client: httpx.AsyncClient, database: Database, tenant: Tenant
) -> None:
    reader = await make_key(database, tenant.account_id, scopes=["tests:read"])
    answer = await client.post(SESSION, json={"key": reader.token}, headers=OWN)
    assert answer.status_code == 201
    assert current(answer)["scopes"] == ["tests:read"]
    assert reader.token not in answer.text
    assert (await client.get(TESTS, headers=OWN)).status_code == 200
    refused = await client.post(TESTS, json={}, headers=OWN)
    assert (refused.status_code, refused.json()["code"]) == (403, "scope_missing")
    assert (await client.get("/api/v1/keys", headers=OWN)).json()["code"] == "scope_missing"


async def test_cookie_is_for_this_host_alone_and_out_of_reach_of_scripts(
    client: httpx.AsyncClient, tenant: Tenant
) -> None:
    answer = await client.post(SESSION, json={"key": tenant.private.token}, headers=OWN)
    name, *attributes = answer.headers["set-cookie"].lower().split("; ")
    assert name.startswith("parley-80=")
    assert {"httponly", "samesite=strict", "path=/", "max-age=604800"} == set(attributes)
    assert tenant.private.token.lower() not in name


async def test_cookie_is_bound_to_tls_where_the_public_address_is(settings: Settings, tenant: Tenant) -> None:
    settings.api.__dict__["public_url"] = "https://parley.example"
    async with open_services(settings) as services:
        transport = httpx.ASGITransport(create_app(services))
        async with httpx.AsyncClient(transport=transport, base_url="https://parley.example") as client:
            answer = await client.post(SESSION, json={"key": tenant.private.token}, headers=OWN)
            assert answer.headers["set-cookie"].startswith("__Host-parley=")
            assert "secure" in answer.headers["set-cookie"].lower().split("; ")
            assert await account_of(client) == str(tenant.account_id)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://api.test:8000"},
        {"Origin": "http://api.test", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"},
    ],
)
async def test_cookie_from_elsewhere_counts_nowhere(
    client: httpx.AsyncClient, tenant: Tenant, headers: dict[str, str]
) -> None:
    await opened(client, tenant)
    for method, path in (
        ("GET", TESTS),
        ("POST", TESTS),
        ("GET", WHOAMI),
        ("GET", SESSION),
        ("DELETE", SESSION),
    ):
        answer = await client.request(method, path, headers={**headers, "X-Parley-Client": "dashboard"})
        assert (answer.status_code, answer.json()["code"]) == (403, "cross_site_refused"), (method, path)
    assert await account_of(client) == str(tenant.account_id)


@pytest.mark.parametrize("origin", ["Origin", "Sec-Fetch-Site", "both"])
async def test_origin_or_fetch_site_is_enough(client: httpx.AsyncClient, tenant: Tenant, origin: str) -> None:
    await opened(client, tenant)
    shown = {"Origin": str(client.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    headers = shown if origin == "both" else {origin: shown[origin]}
    assert (await client.get(TESTS, headers=headers)).status_code == 200


async def test_what_changes_something_wants_the_client_header(
    client: httpx.AsyncClient, tenant: Tenant
) -> None:
    await opened(client, tenant)
    bare = {"Sec-Fetch-Site": "same-origin"}
    for method, path in (("POST", TESTS), ("PATCH", f"{TESTS}/x"), ("DELETE", SESSION), ("PUT", SESSION)):
        answer = await client.request(method, path, headers=bare, json=None if method == "DELETE" else {})
        assert (answer.status_code, answer.json()["code"]) == (403, "cross_site_refused"), method
    assert (await client.get(TESTS, headers=bare)).status_code == 200


async def test_sign_in_from_elsewhere_is_refused(client: httpx.AsyncClient, tenant: Tenant) -> None:
    for headers in ({}, {"Sec-Fetch-Site": "same-origin"}, {**OWN, "Sec-Fetch-Site": "cross-site"}):
        answer = await client.post(SESSION, json={"key": tenant.private.token}, headers=headers)
        assert answer.json()["code"] == "cross_site_refused"
        assert "set-cookie" not in answer.headers


async def test_key_wins_over_the_cookie(client: httpx.AsyncClient, tenant: Tenant, stranger: Tenant) -> None:
    await opened(client, tenant)
    answer = await client.get(WHOAMI, headers=stranger.auth)
    assert answer.json()["data"]["account_id"] == str(stranger.account_id)
    assert (await client.get(WHOAMI, headers={"Authorization": "Bearer x", **OWN})).status_code == 401


async def test_session_token_is_no_key(client: httpx.AsyncClient, tenant: Tenant) -> None:
    await opened(client, tenant)
    token = client.cookies["parley-80"]
    client.cookies.clear()
    answer = await client.get(WHOAMI, headers={"Authorization": f"Bearer {token}", **OWN})
    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_api_key")


async def test_who_may_not_sign_in(client: httpx.AsyncClient, services: Services, tenant: Tenant) -> None:
    async def code(body: dict[str, Any]) -> str:
        answer = await client.post(SESSION, json=body, headers=OWN)
        assert "set-cookie" not in answer.headers
        found: str = answer.json()["code"]
        return found

    assert await code({"key": tenant.public.token}) == "public_key_refused"
    assert await code({"key": "sk-par-nonsense"}) == "invalid_api_key"
    assert await code({"link": "nonsense"}) == "sign_in_link_spent"
    assert await code({}) == "invalid_request"
    assert await code({"key": tenant.private.token, "link": "x"}) == "invalid_request"
    async with services.database.raw() as connection:
        await connection.execute("UPDATE accounts SET status = 'suspended' WHERE id = $1", tenant.account_id)
    assert await code({"key": tenant.private.token}) == "account_suspended"


async def test_accounts_of_one_browser_are_switched(
    client: httpx.AsyncClient, tenant: Tenant, stranger: Tenant
) -> None:
    first = await opened(client, tenant)
    await opened(client, stranger)
    assert await account_of(client) == str(stranger.account_id)
    answer = await client.put(SESSION, json={"id": first["id"]}, headers=OWN)
    assert [one["account_name"] for one in answer.json()["data"]] == ["Owner", "Stranger"]
    assert await account_of(client) == str(tenant.account_id)
    unknown = await client.put(SESSION, json={"id": str(tenant.account_id)}, headers=OWN)
    assert (unknown.status_code, unknown.json()["details"][0]["field"]) == (400, "id")


async def test_second_sign_in_to_an_account_takes_the_place_of_the_first(
    client: httpx.AsyncClient, tenant: Tenant
) -> None:
    await opened(client, tenant)
    earlier = client.cookies["parley-80"]
    await opened(client, tenant)
    listed = await client.get(SESSION, headers=OWN)
    assert len(listed.json()["data"]) == 1
    client.cookies.clear()
    client.cookies.set("parley-80", earlier, domain="api.test")
    assert (await client.get(TESTS, headers=OWN)).json()["code"] == "session_ended"


async def test_ninth_account_ends_the_session_used_longest_ago(
    client: httpx.AsyncClient, services: Services, database: Database
) -> None:
    tenants = [await make_tenant(database, f"Tenant {number}") for number in range(9)]
    for one in tenants:
        await opened(client, one)
    names = [one["account_name"] for one in (await client.get(SESSION, headers=OWN)).json()["data"]]
    assert names == [f"Tenant {number}" for number in range(8, 0, -1)]
    async with services.database.raw() as connection:
        assert await connection.fetchval("SELECT count(*) FROM browser_sessions") == 8


async def test_signing_out_ends_one_session_and_speaks_for_nobody(
    client: httpx.AsyncClient, tenant: Tenant, stranger: Tenant
) -> None:
    await opened(client, tenant)
    await opened(client, stranger)
    assert (await client.delete(SESSION, headers=OWN)).status_code == 204
    refused = await client.get(TESTS, headers=OWN)
    assert (refused.status_code, refused.json()["code"]) == (401, "session_ended")
    [left] = (await client.get(SESSION, headers=OWN)).json()["data"]
    assert (left["account_name"], left["is_current"]) == ("Owner", False)
    await client.put(SESSION, json={"id": left["id"]}, headers=OWN)
    assert await account_of(client) == str(tenant.account_id)


async def test_signing_out_of_all_takes_the_cookie_back(
    client: httpx.AsyncClient, services: Services, tenant: Tenant, stranger: Tenant
) -> None:
    await opened(client, tenant)
    await opened(client, stranger)
    assert (await client.delete(SESSION, params={"everywhere": True}, headers=OWN)).status_code == 204
    assert (await client.get(SESSION, headers=OWN)).json()["data"] == []
    assert (await client.get(TESTS, headers=OWN)).json()["code"] == "missing_api_key"
    async with services.database.raw() as connection:
        assert await connection.fetchval("SELECT count(*) FROM browser_sessions") == 0


async def test_session_ends_with_its_key(
    client: httpx.AsyncClient, database: Database, tenant: Tenant
) -> None:
    key = await make_key(database, tenant.account_id)
    await client.post(SESSION, json={"key": key.token}, headers=OWN)
    assert (await client.get(TESTS, headers=OWN)).status_code == 200
    await client.delete(f"/api/v1/keys/{key.id}", headers=tenant.auth)
    assert (await client.get(TESTS, headers=OWN)).json()["code"] == "session_ended"
    assert (await client.get(SESSION, headers=OWN)).json()["data"] == []


async def test_session_runs_out(client: httpx.AsyncClient, services: Services, tenant: Tenant) -> None:
    await opened(client, tenant)
    async with services.database.raw() as connection:
        await connection.execute("UPDATE browser_sessions SET expires_at = now() - interval '1 second'")
    assert (await client.get(TESTS, headers=OWN)).json()["code"] == "session_ended"
    assert (await client.get(SESSION, headers=OWN)).json()["data"] == []
    await opened(client, tenant)
    async with services.database.raw() as connection:
        assert await connection.fetchval("SELECT count(*) FROM browser_sessions") == 1


async def test_suspension_is_told_to_a_session_too(
    client: httpx.AsyncClient, services: Services, tenant: Tenant
) -> None:
    await opened(client, tenant)
    async with services.database.raw() as connection:
        await connection.execute("UPDATE accounts SET status = 'suspended' WHERE id = $1", tenant.account_id)
    assert (await client.get(TESTS, headers=OWN)).json()["code"] == "account_suspended"
    assert current(await client.get(SESSION, headers=OWN))["status"] == "suspended"


async def test_link_opens_one_session(client: httpx.AsyncClient, tenant: Tenant) -> None:
    made = await client.post(f"{SESSION}/links", headers=tenant.auth)
    assert made.status_code == 201
    url, _, token = made.json()["data"]["url"].partition("#link=")
    assert url == "http://api.test/sign-in"
    answer = await client.post(SESSION, json={"link": token}, headers=OWN)
    assert current(answer)["account_id"] == str(tenant.account_id)
    again = await client.post(SESSION, json={"link": token}, headers=OWN)
    assert (again.status_code, again.json()["code"]) == (401, "sign_in_link_spent")


async def test_link_opened_by_many_at_once_opens_one(live_server: LiveServer, tenant: Tenant) -> None:
    async with httpx.AsyncClient(base_url=live_server.url, verify=False) as client:
        made = await client.post(f"{SESSION}/links", headers=tenant.auth)
        token = made.json()["data"]["url"].partition("#link=")[2]
        tries = [client.post(SESSION, json={"link": token}, headers=OWN) for _ in range(5)]
        statuses = sorted(answer.status_code for answer in await asyncio.gather(*tries))
    assert statuses == [201, 401, 401, 401, 401]


async def test_old_link_and_link_of_a_revoked_key_open_nothing(
    client: httpx.AsyncClient, services: Services, database: Database, tenant: Tenant
) -> None:
    async def link(headers: dict[str, str]) -> str:
        made = await client.post(f"{SESSION}/links", headers=headers)
        token: str = made.json()["data"]["url"].partition("#link=")[2]
        return token

    old = await link(tenant.auth)
    async with services.database.raw() as connection:
        await connection.execute("UPDATE sign_in_links SET expires_at = now()")
    answer = await client.post(SESSION, json={"link": old}, headers=OWN)
    assert answer.json()["code"] == "sign_in_link_spent"

    key = await make_key(database, tenant.account_id)
    orphan = await link(key.auth)
    await client.delete(f"/api/v1/keys/{key.id}", headers=tenant.auth)
    answer = await client.post(SESSION, json={"link": orphan}, headers=OWN)
    assert answer.json()["code"] == "invalid_api_key"


async def test_only_private_keys_make_links(client: httpx.AsyncClient, tenant: Tenant) -> None:
    assert (await client.post(f"{SESSION}/links", headers=tenant.public.auth)).status_code == 403
    assert (await client.post(f"{SESSION}/links")).status_code == 401


@pytest.mark.parametrize("value", ["", ".", "x" * 43, "é" * 43, "a.b.c", "x" * 4000])
async def test_malformed_cookies_sign_nobody_in(client: httpx.AsyncClient, value: str) -> None:
    own = [(name.encode(), text.encode()) for name, text in OWN.items()]
    headers = [(b"Cookie", f"parley-80={value}".encode()), *own]
    assert (await client.get(SESSION, headers=headers)).json()["data"] == []
    assert (await client.get(TESTS, headers=headers)).status_code == 401
