"""What people call things has to be seen: gateways, keys, accounts, channels, tests."""

from __future__ import annotations

import dataclasses
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from parley.server.api.operators_app import create_operators_app
from parley.server.config import AdminSettings, Settings
from parley.server.db.database import Database
from parley.server.wiring import Services
from tests.factories.accounts import Tenant, bearer
from tests.factories.agentic_tests import make_gateway

TOKEN = "an operator's token for tests, long enough"
UNSEEN = [
    " ",
    "\t\n",
    "\u200b",
    "\u200b\u2060\ufeff",
    "\u3164",
    "\u00ad\u200d",
    "\U000e0041",
    "\u2800 \u115f",
]
BODIES: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/api/v1/ai-gateways", {"base_url": "https://llm.example/v1", "model": "m"}),
    ("POST", "/api/v1/keys", {}),
    ("PUT", "/api/v1/account", {}),
    ("POST", "/api/v1/channels", {"url": "https://chat.example/hook"}),
    ("POST", "/admin/v1/accounts", {}),
]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """The operators' API is on."""
    return dataclasses.replace(settings, admin=AdminSettings(port=0, token=SecretStr(TOKEN)))


@pytest.mark.parametrize(("method", "path", "rest"), BODIES, ids=[path for _, path, _ in BODIES])
async def test_name_that_nobody_can_see_is_refused(
    client: httpx.AsyncClient,
    services: Services,
    tenant: Tenant,
    method: str,
    path: str,
    rest: dict[str, Any],
) -> None:
    transport = httpx.ASGITransport(create_operators_app(services))
    async with httpx.AsyncClient(transport=transport, base_url="http://admin.test") as operator:
        asked, auth = (operator, bearer(TOKEN)) if path.startswith("/admin") else (client, tenant.auth)
        for name in UNSEEN:
            answer = await asked.request(method, path, json=rest | {"name": name}, headers=auth)
            assert answer.status_code == 400, (name, answer.text)
            assert answer.json()["details"] == [{"field": "name", "problem": "must not be blank"}], name
        seen = await asked.request(method, path, json=rest | {"name": "\u200bA\u200b"}, headers=auth)
        assert seen.status_code in (200, 201), seen.text


async def test_name_is_not_changed_into_one_that_nobody_can_see(
    client: httpx.AsyncClient, tenant: Tenant, database: Database
) -> None:
    gateway = await make_gateway(database, tenant.scope)
    path = f"/api/v1/ai-gateways/{gateway.id}"
    answer = await client.patch(path, json={"name": "\u200b"}, headers=tenant.auth)
    assert answer.json()["details"] == [{"field": "name", "problem": "must not be blank"}]


BROKEN = ["a\nb", "a\x1b[31mb", "a\x7f", "tab\there", "a\u2028b"]
CAMEL = "/api/v1/custom-agent-evaluations"
NAMED: list[tuple[str, dict[str, Any]]] = [
    ("/api/v1/ai-gateways", {"base_url": "https://llm.example/v1", "model": "m"}),
    ("/api/v1/keys", {}),
    ("/api/v1/suites", {}),
    ("/api/v1/agentic-tests", {"goal": "Get help.", "gateway": "@parley/demo"}),
    (f"{CAMEL}/datasets", {"questions": [{"main_question": {"query": "Why?"}}]}),
    (f"{CAMEL}/evaluation-settings", {}),
]


@pytest.mark.parametrize(("path", "rest"), NAMED, ids=[path for path, _ in NAMED])
async def test_name_of_more_than_one_line_is_refused(
    client: httpx.AsyncClient, tenant: Tenant, path: str, rest: dict[str, Any]
) -> None:
    """It would break out of a terminal's line, a CSV's cell, a mail's subject."""
    for name in BROKEN:
        answer = await client.post(path, json=rest | {"name": name}, headers=tenant.auth)
        assert answer.status_code == 400, (name, answer.text)
        told = {fault["field"]: fault["problem"] for fault in answer.json()["details"]}
        assert told["name"] == "must not hold control characters or line ends"
