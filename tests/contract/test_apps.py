"""`/api/v1/apps`, as owner, stranger, public key and nobody; and what a check makes of what answers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Response
from sqlalchemy import text

from parley.engine.script.protocol import PROTOCOL_VERSION
from parley.engine.script.revision import suite_revision
from parley.engine.script.shapes import Suite
from parley.sdk.evals import Evals, function_agent
from parley.server.apps.vault import AppVault
from parley.server.db.database import Database
from parley.server.wiring import Services
from tests.factories.accounts import Tenant, make_key
from tests.factories.remote_apps import APP_BODY, SERVICE_KEY, app_served, make_app
from tests.unit.sdk_evals.stage import Lenient, step, suite

URL = "/api/v1/apps"
UNKNOWN = "01a22cd1-1c69-7435-8e3a-8a2be0d79950"


async def test_app_comes_back_as_it_was_sent_but_for_its_key(
    client: httpx.AsyncClient, tenant: Tenant, services: Services, database: Database
) -> None:
    made = await client.post(URL, headers=tenant.auth, json=APP_BODY)
    assert made.status_code == 201, made.text
    data = made.json()["data"]
    assert (data["name"], data["url"], data["offer"]) == (APP_BODY["name"], APP_BODY["url"], None)
    assert data["slug"] == f"shop-backend:{data['id'][-4:]}"
    assert (await client.get(f"{URL}/{data['id']}", headers=tenant.auth)).json()["data"] == data
    listed = await client.get(URL, headers=tenant.auth)
    assert listed.json()["data"] == [data]
    assert "canary" not in made.text + listed.text
    async with database.session() as session:
        sealed = await session.scalar(text("SELECT sealed_service_key FROM remote_apps"))
    assert b"canary" not in sealed
    row = await make_app(services, tenant)
    address = await AppVault(database, services.keyring).address_of(tenant.account_id, row.id)
    assert address
    assert address.service_key == SERVICE_KEY
    assert "canary" not in repr(address)


async def test_patch_changes_only_what_is_sent(client: httpx.AsyncClient, tenant: Tenant) -> None:
    before = (await client.post(URL, headers=tenant.auth, json=APP_BODY)).json()["data"]
    url = f"{URL}/{before['id']}"
    after = (await client.patch(url, headers=tenant.auth, json={"name": "Till"})).json()["data"]
    assert after == {**before, "name": "Till", "updated_at": after["updated_at"]}
    assert (await client.delete(url, headers=tenant.auth)).status_code == 204
    assert (await client.get(url, headers=tenant.auth)).status_code == 404


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", " "),
        ("name", None),
        ("url", "shop.example.com"),
        ("url", "https://10.0.0.1/evals"),
        ("url", "https://user:x@shop.example.com"),
        ("url", "https://shop.example.com/evals?tenant=1"),
        ("service_key", "x" * 31),
        ("service_key", "x" * 513),
        ("service_key", "canary with blanks that is long enough"),
        ("service_key", "x" * 40 + "\n"),
    ],
)
async def test_bad_field_is_named_and_nothing_is_stored(
    client: httpx.AsyncClient, tenant: Tenant, field: str, value: Any
) -> None:
    answer = await client.post(URL, headers=tenant.auth, json=APP_BODY | {field: value})
    assert answer.status_code == 400
    assert {line["field"] for line in answer.json()["details"]} == {field}
    assert "canary" not in answer.text
    assert (await client.get(URL, headers=tenant.auth)).json()["data"] == []


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("GET", "", "tests:read"),
        ("POST", "", "tests:write"),
        ("GET", "/{id}", "tests:read"),
        ("PATCH", "/{id}", "tests:write"),
        ("DELETE", "/{id}", "tests:write"),
        ("POST", "/{id}/check", "tests:write"),
    ],
)
async def test_each_endpoint_is_for_private_keys_of_the_account_alone(
    client: httpx.AsyncClient,
    services: Services,
    tenant: Tenant,
    stranger: Tenant,
    method: str,
    path: str,
    scope: str,
) -> None:
    row = await make_app(services, tenant)
    weak = await make_key(services.database, tenant.account_id, scopes=["account:read"])
    body = {"POST": APP_BODY, "PATCH": {"name": "mine now"}}.get(method) if "check" not in path else None
    url = URL + path.format(id=row.id)
    assert (await client.request(method, url, json=body)).status_code == 401
    as_public = await client.request(method, url, headers=tenant.public.auth, json=body)
    assert (as_public.status_code, as_public.json()["code"]) == (403, "public_key_refused")
    without = await client.request(method, url, headers=weak.auth, json=body)
    assert (without.status_code, without.json()["details"]) == (403, {"scopes": [scope]})
    if path:
        answers = [
            await client.request(method, URL + path.format(id=one), headers=stranger.auth, json=body)
            for one in (row.id, UNKNOWN, "no-id")
        ]
        assert [answer.status_code for answer in answers] == [404] * 3
        assert answers[0].json() == answers[1].json() == answers[2].json()
    assert (await client.get(URL, headers=stranger.auth)).json()["data"] == []


@pytest.fixture
async def real_app() -> AsyncIterator[tuple[Evals, str]]:
    """An app whose runner has evidence of its own."""
    evals = Evals(
        agent=function_agent(lambda text: text),
        suites=[suite(step(criteria=["Is kind."]))],
        judge=Lenient(),
        defaults={"events": False},
        app_version="7",
    )
    outer = FastAPI()
    route = evals.asgi(service_key=SERVICE_KEY)
    outer.mount("/evals", route)
    async with app_served(outer) as url:
        yield evals, f"{url}/evals/"
    await route.aclose()


async def test_check_finds_what_the_app_offers_and_it_is_kept(
    client: httpx.AsyncClient, services: Services, tenant: Tenant, real_app: tuple[Evals, str]
) -> None:
    evals, url = real_app
    row = await make_app(services, tenant, url=url)
    answer = await client.post(f"{URL}/{row.id}/check", headers=tenant.auth)
    found = answer.json()["data"]
    assert (answer.status_code, found["ok"], found["fault"]) == (200, True, None)
    (revision,) = [one["revision"] for one in evals.describe()["suites"]]
    assert found["offer"]["suites"] == [{"id": "s", "name": None, "revision": revision, "cases": 1}]
    assert (found["offer"]["judge"]["id"], found["offer"]["appVersion"]) == ("lenient", "7")
    (taken_over,) = found["suites"]
    assert suite_revision(Suite.of_wire(taken_over)) == revision, "with the app's own policy written out"
    kept = (await client.get(f"{URL}/{row.id}", headers=tenant.auth)).json()["data"]
    assert kept["offer"] == found["offer"]
    assert kept["checked_at"]
    assert "canary" not in answer.text
    changed = await client.patch(f"{URL}/{row.id}", headers=tenant.auth, json={"url": APP_BODY["url"]})
    assert changed.json()["data"]["offer"] is None, "another address, another app"


def raw(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


OLDER = {"protocolVersion": 0, "client": {"name": "parley-evals", "version": "0.0.9"}}
OTHERS: list[tuple[int, Any, str, str]] = [
    (302, b"", "app_misbehaved", "redirects are not followed"),
    (401, {"error": {"code": "key_refused", "message": "Wrong key."}}, "key_refused", "Wrong key."),
    (401, b"<html>", "app_misbehaved", "Status 401"),
    (500, {"error": {"code": "c", "message": "m"}, "x": "x" * 64_000}, "app_unreachable", "Status 500"),
    (403, {"error": {"code": "no", "message": f"Bearer {SERVICE_KEY}?"}}, "no", "Bearer [service key]?"),
    (404, b"", "app_unreachable", "check address and mount"),
    (200, b"<html>hello</html>", "app_misbehaved", "no route of parley-evals"),
    (200, b'{"a": NaN}', "app_misbehaved", "NaN"),
    (200, b"[" * 90_000, "app_misbehaved", "nested"),
    (200, b" " * 8_000_001, "app_misbehaved", "larger than"),
    (200, {"ok": True}, "protocol_unsupported", "no protocol version"),
    (200, OLDER, "protocol_unsupported", "(parley-evals 0.0.9) speaks protocol 0, which is older than 1"),
    (200, {"protocolVersion": 99}, "protocol_unsupported", "Update parley-evals in the service"),
    (200, {"protocolVersion": PROTOCOL_VERSION}, "app_misbehaved", "is missing"),
]


async def test_check_tells_in_plain_words_what_answers_instead(
    client: httpx.AsyncClient, services: Services, tenant: Tenant
) -> None:
    other = FastAPI()

    @other.get("/{number}/manifest")
    async def manifest(number: int) -> Response:
        status, body, *_ = OTHERS[number]
        return Response(raw(body), status, {"location": "http://127.0.0.1/x"})

    async with app_served(other) as url:
        for number, (_, _, code, says) in enumerate(OTHERS):
            row = await make_app(services, tenant, url=f"{url}/{number}")
            found = (await client.post(f"{URL}/{row.id}/check", headers=tenant.auth)).json()["data"]
            assert (found["ok"], found["code"], found["suites"]) == (False, code, []), found
            assert says in found["fault"]


async def test_check_goes_through_the_guard(
    client: httpx.AsyncClient, services: Services, tenant: Tenant, unused_tcp_port: int
) -> None:
    for url, code in (
        (f"http://127.0.0.1:{unused_tcp_port}", "app_unreachable"),
        ("http://inner.localhost:8080", "address_refused"),
    ):
        row = await make_app(services, tenant, url=url)
        found = (await client.post(f"{URL}/{row.id}/check", headers=tenant.auth)).json()["data"]
        assert (found["ok"], found["code"]) == (False, code), found
