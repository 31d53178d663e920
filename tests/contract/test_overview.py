"""The overview over HTTP: what broke, what recovered, what runs, what is due, and whose it is."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import httpx
import pytest

from parley.server.wiring import Services
from tests.factories.accounts import Tenant, make_tenant
from tests.factories.ended_runs import end_run, make_running
from tests.factories.gateways import make_gateway

PATH = "/api/v1/overview"


async def make(client: httpx.AsyncClient, services: Services, tenant: Tenant, **fields: Any) -> UUID:
    gateway = await make_gateway(services, tenant)
    body = {"name": "Refund", "gateway": gateway.slug, "goal": "Get a refund"} | fields
    answer = await client.post("/api/v1/agentic-tests", json=body, headers=tenant.auth)
    return UUID(answer.json()["data"]["id"])


async def look(client: httpx.AsyncClient, tenant: Tenant, **query: Any) -> Any:
    answer = await client.get(PATH, params=query, headers=tenant.auth)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


async def test_account_without_tests_has_an_empty_overview(client: httpx.AsyncClient, tenant: Tenant) -> None:
    assert await look(client, tenant) == {
        "days": 7,
        "counts": {"broke": 0, "failing": 0, "recovered": 0, "passing": 0},
        "not_passing": [],
        "recovered": [],
        "open_runs": [],
        "upcoming": [],
    }


async def test_tests_stand_by_their_last_two_ends(
    client: httpx.AsyncClient, services: Services, tenant: Tenant
) -> None:
    histories = {"Broke": "sl", "Failing": "ff", "Recovered": "fs", "Passing": "ss", "New": "l"}
    for name, letters in histories.items():
        test_id = await make(client, services, tenant, name=name)
        for letter in letters:
            await end_run(services.database, tenant.account_id, test_id, letter)
        await end_run(services.database, tenant.account_id, test_id, "c")
    found = await look(client, tenant)
    assert found["counts"] == {"broke": 2, "failing": 1, "recovered": 1, "passing": 1}
    assert [(one["test"]["name"], one["change"]) for one in found["not_passing"]] == [
        ("New", "broke"),
        ("Failing", "failing"),
        ("Broke", "broke"),
    ]
    assert found["not_passing"][2]["run"]["outcome"] == "loss"
    assert [one["test"]["name"] for one in found["recovered"]] == ["Recovered"]


async def test_open_runs_and_next_starts_are_shown(
    client: httpx.AsyncClient, services: Services, tenant: Tenant
) -> None:
    test_id = await make(client, services, tenant, name="Nightly", cron="30 6 * * *")
    lease = await make_running(services.database, tenant.account_id, test_id)
    found = await look(client, tenant)
    assert [one["run"]["id"] for one in found["open_runs"]] == [str(lease.run_id)]
    assert found["open_runs"][0]["test"] == {"id": str(test_id), "name": "Nightly"}
    [due] = found["upcoming"]
    assert due["test"]["name"] == "Nightly"
    assert due["next_run_at"].endswith("T06:30:00.000Z")


async def test_deleted_test_is_not_told_of(
    client: httpx.AsyncClient, services: Services, tenant: Tenant
) -> None:
    test_id = await make(client, services, tenant, cron="30 6 * * *")
    await end_run(services.database, tenant.account_id, test_id, "f")
    await client.delete(f"/api/v1/agentic-tests/{test_id}", headers=tenant.auth)
    found = await look(client, tenant)
    assert (found["not_passing"], found["upcoming"]) == ([], [])


async def test_another_accounts_tests_are_not_seen(
    client: httpx.AsyncClient, services: Services, tenant: Tenant
) -> None:
    test_id = await make(client, services, tenant, cron="30 6 * * *")
    await end_run(services.database, tenant.account_id, test_id, "f")
    await make_running(services.database, tenant.account_id, test_id)
    stranger = await make_tenant(services.database, "Stranger")
    found = await look(client, stranger)
    assert not any((found["not_passing"], found["open_runs"], found["upcoming"]))


@pytest.mark.parametrize("days", ["0", "31", "soon"])
async def test_days_out_of_range_are_refused(client: httpx.AsyncClient, tenant: Tenant, days: str) -> None:
    answer = await client.get(PATH, params={"days": days}, headers=tenant.auth)
    assert (answer.status_code, answer.json()["details"][0]["field"]) == (400, "days")
