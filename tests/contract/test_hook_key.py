"""`/api/v1/account/hook-key` and its roll, as owner, stranger, public key and nobody."""

from __future__ import annotations

import httpx

from parley.server.db.database import Database
from parley.server.hooks.vault import place_of_key
from parley.server.wiring import Services
from tests.factories.accounts import Tenant, make_key

KEY = "/api/v1/account/hook-key"
ROLL = "/api/v1/account/hook-key/roll"


async def stored(services: Services, tenant: Tenant) -> str | None:
    async with services.database.raw() as connection:
        sealed = await connection.fetchval(
            "SELECT sealed_key FROM hook_keys WHERE account_id = $1", tenant.account_id
        )
    return services.keyring.open(sealed, place_of_key(tenant.account_id)) if sealed else None


async def test_key_is_shown_once_and_sealed(
    client: httpx.AsyncClient, services: Services, tenant: Tenant, stranger: Tenant
) -> None:
    answer = await client.post(ROLL, headers=tenant.auth)
    assert answer.status_code == 200
    assert set(answer.json()["data"]) == {"key", "rolled_at"}
    assert await stored(services, tenant) == answer.json()["data"]["key"]
    assert await stored(services, stranger) is None


async def test_rolling_again_replaces_the_callers_key_alone(
    client: httpx.AsyncClient, services: Services, tenant: Tenant, stranger: Tenant
) -> None:
    keys = [(await client.post(ROLL, headers=each.auth)).json()["data"]["key"] for each in (tenant, stranger)]
    new = (await client.post(ROLL, headers=tenant.auth)).json()["data"]["key"]
    assert new not in keys
    assert await stored(services, tenant) == new
    assert await stored(services, stranger) == keys[1]


async def test_only_a_private_key_that_may_write_the_account_rolls(
    client: httpx.AsyncClient, services: Services, database: Database, tenant: Tenant
) -> None:
    reader = await make_key(database, tenant.account_id, scopes=["account:read", "tests:write"])
    answers = [await client.post(ROLL, headers=headers) for headers in ({}, tenant.public.auth, reader.auth)]
    assert [(each.status_code, each.json()["code"]) for each in answers] == [
        (401, "missing_api_key"),
        (403, "public_key_refused"),
        (403, "scope_missing"),
    ]
    assert await stored(services, tenant) is None


async def test_owner_reads_since_when_there_is_a_key_and_never_the_key(
    client: httpx.AsyncClient, tenant: Tenant, stranger: Tenant
) -> None:
    assert (await client.get(KEY, headers=tenant.auth)).json()["data"] == {"rolled_at": None}
    rolled = (await client.post(ROLL, headers=tenant.auth)).json()["data"]
    assert (await client.get(KEY, headers=tenant.auth)).json()["data"] == {"rolled_at": rolled["rolled_at"]}
    assert (await client.get(KEY, headers=stranger.auth)).json()["data"] == {"rolled_at": None}


async def test_only_a_private_key_that_may_read_the_account_asks(
    client: httpx.AsyncClient, database: Database, tenant: Tenant
) -> None:
    tester = await make_key(database, tenant.account_id, scopes=["tests:write"])
    answers = [await client.get(KEY, headers=headers) for headers in ({}, tenant.public.auth, tester.auth)]
    assert [(each.status_code, each.json()["code"]) for each in answers] == [
        (401, "missing_api_key"),
        (403, "public_key_refused"),
        (403, "scope_missing"),
    ]
