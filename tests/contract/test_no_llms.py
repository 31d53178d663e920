"""An installation whose operator has named no llms that play user and judge."""

from __future__ import annotations

import dataclasses
import logging

import httpx
import pytest

from parley.server.config import LlmSettings, ProfileSettings, Settings
from parley.server.db.database import Database
from parley.server.wiring import open_services
from tests.factories.accounts import Tenant
from tests.factories.agentic_tests import make_gateway
from tests.stage import DIRECT, GOAL

TESTS = "/api/v1/agentic-tests"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """High is named, the others are not."""
    profile = ProfileSettings(high_user="user", high_judge="judge")
    return dataclasses.replace(settings, profile=profile)


async def test_tests_are_kept_and_no_run_starts(
    client: httpx.AsyncClient, tenant: Tenant, database: Database
) -> None:
    gateway = await make_gateway(database, tenant.scope)
    body = {"name": "Boots", "gateway": gateway.slug, "goal": GOAL}
    made = await client.post(TESTS, json=body, headers=tenant.auth)
    assert made.status_code == 201, made.text
    path = f"{TESTS}/{made.json()['data']['id']}"
    refused = await client.post(f"{path}/runs", headers=tenant.auth)
    assert (refused.status_code, refused.json()["code"]) == (503, "llms_not_configured")
    assert refused.json()["details"] == {"profile": "medium"}
    assert int(refused.headers["retry-after"]) >= 1
    limits = (await client.get("/api/v1/limits", headers=tenant.auth)).json()["data"]
    assert limits["runs_per_minute"]["used"] == 0
    await client.patch(path, json={"profile": "high"}, headers=tenant.auth)
    assert (await client.post(f"{path}/runs", headers=tenant.auth)).status_code == 202


async def test_no_direct_evaluation_starts(
    client: httpx.AsyncClient, tenant: Tenant, database: Database
) -> None:
    gateway = await make_gateway(database, tenant.scope)
    body = {"model": gateway.slug, "goal": GOAL, "profile": "low"}
    refused = await client.post(DIRECT, json=body, headers=tenant.auth)
    assert (refused.status_code, refused.json()["code"]) == (503, "llms_not_configured")


async def test_a_start_of_the_process_warns(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with open_services(settings):
            pass
    assert "profiles low, medium: starts are answered with 503" in caplog.text
    caplog.clear()
    named = dataclasses.replace(settings, profile=ProfileSettings(low_user="user", low_judge="judge"))
    async with open_services(named):
        pass
    assert "starts are answered with 503" not in caplog.text
    async with open_services(dataclasses.replace(named, llm=LlmSettings())):
        pass
    assert "profiles low, medium, high: starts" in caplog.text
