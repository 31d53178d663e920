"""`/api/v1/keys` and `/api/v1/whoami`, as owner, stranger, public key and nobody."""

from __future__ import annotations

import httpx

from tests.factories.accounts import Tenant


async def test_whoami_answers_a_private_key(client: httpx.AsyncClient, tenant: Tenant) -> None:
    answer = await client.get("/api/v1/whoami", headers=tenant.auth)
    assert answer.status_code == 200
    assert answer.json()["data"]["account_id"] == str(tenant.account_id)
