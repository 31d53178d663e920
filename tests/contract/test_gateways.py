"""`/api/v1/ai-gateways`, as owner, stranger, public key and nobody."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from sqlalchemy import text

from parley.server.db.database import Database
from parley.server.gateways.target import endpoint_of
from parley.server.wiring import Services
from tests.factories.accounts import Tenant, make_key
from tests.factories.gateways import GATEWAY_BODY, make_gateway

URL = "/api/v1/ai-gateways"
UNKNOWN = "01a22cd1-1c69-7435-8e3a-8a2be0d79950"
EVERYTHING: dict[str, Any] = GATEWAY_BODY | {
    "api_key": "canary-key-5f1c",
    "system_instruction": "You sell shoes.",
    "temperature": 0.5,
    "top_p": 1,
    "max_completion_tokens": 500,
    "stop": ["END", "STOP"],
    "seed": -7,
    "reasoning_effort": "low",
    "tools": [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}],
    "headers": {"X-Team": "canary-header-77ab"},
    "extra_body": {"user_tier": "gold", "stream_options": {"include_usage": True}},
    "forward_metadata": "headers",
    "prices": {"input": 0.25, "cached": 0.025, "output": 1.5},
    "timeouts": {"first_token_s": 5, "idle_s": 2.5, "inference_s": 60},
}


async def test_gateway_comes_back_as_it_was_sent_but_for_its_secrets(
    client: httpx.AsyncClient, tenant: Tenant
) -> None:
    made = await client.post(URL, headers=tenant.auth, json=EVERYTHING)
    assert made.status_code == 201
    data = made.json()["data"]
    assert (await client.get(f"{URL}/{data['id']}", headers=tenant.auth)).json()["data"] == data
    sent = {name: value for name, value in EVERYTHING.items() if name not in ("api_key", "headers")}
    assert {name: data[name] for name in sent} == sent
    assert (data["has_api_key"], data["header_names"]) == (True, ["X-Team"])
    assert data["slug"] == f"shop-support:{data['id'][-4:]}"
    listed = await client.get(URL, headers=tenant.auth)
    assert listed.json()["data"] == [data]
    for answer in (made, listed):
        assert "canary" not in answer.text


async def test_secrets_are_sealed_and_bound_to_their_row(
    tenant: Tenant, services: Services, database: Database
) -> None:
    row = await make_gateway(services, tenant, api_key="canary-key", headers={"X-A": "canary-header"})
    async with database.session() as session:
        stored = (await session.execute(text("SELECT sealed_api_key, sealed_headers FROM ai_gateways"))).one()
    assert b"canary" not in stored[0] + stored[1]
    endpoint = endpoint_of(row, services.keyring)
    assert (endpoint.api_key, endpoint.headers) == ("canary-key", {"X-A": "canary-header"})


async def test_defaults_are_those_of_the_contract(client: httpx.AsyncClient, tenant: Tenant) -> None:
    data = (await client.post(URL, headers=tenant.auth, json=GATEWAY_BODY)).json()["data"]
    assert data["forward_metadata"] == "body"
    assert data["prices"] == {"input": 0, "cached": 0, "output": 0}
    assert data["timeouts"] == {"first_token_s": None, "idle_s": None, "inference_s": None}
    assert (data["stop"], data["tools"], data["extra_body"]) == ([], [], {})
    assert (data["has_api_key"], data["header_names"]) == (False, [])


async def test_patch_changes_only_what_is_sent(client: httpx.AsyncClient, tenant: Tenant) -> None:
    before = (await client.post(URL, headers=tenant.auth, json=EVERYTHING)).json()["data"]
    url = f"{URL}/{before['id']}"
    change = {"name": "Renamed", "prices": {"input": 1}, "headers": {"X-B": "b"}, "temperature": None}
    answer = await client.patch(url, headers=tenant.auth, json=change)
    assert answer.status_code == 200
    after = answer.json()["data"]
    assert (after["name"], after["slug"]) == ("Renamed", before["slug"])
    assert after["prices"] == {"input": 1, "cached": 0, "output": 0}
    assert after["header_names"] == ["X-B"]
    assert after["temperature"] is None
    kept = set(before) - {"name", "prices", "header_names", "temperature", "updated_at"}
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert after["updated_at"] > before["updated_at"]
    assert (await client.get(url, headers=tenant.auth)).json()["data"] == after


async def test_null_clears_every_field_that_may_be_left_out(
    client: httpx.AsyncClient, tenant: Tenant
) -> None:
    made = (await client.post(URL, headers=tenant.auth, json=EVERYTHING)).json()["data"]
    plain = (await client.post(URL, headers=tenant.auth, json=GATEWAY_BODY)).json()["data"]
    cleared = await client.patch(
        f"{URL}/{made['id']}",
        headers=tenant.auth,
        json=dict.fromkeys(set(EVERYTHING) - set(GATEWAY_BODY)),
    )
    assert cleared.status_code == 200
    own = {"id", "slug", "created_at", "updated_at"}
    data = cleared.json()["data"]
    assert {name: data[name] for name in set(data) - own} == {name: plain[name] for name in set(plain) - own}


@pytest.mark.parametrize("field", ["name", "base_url", "model"])
async def test_needed_field_cannot_be_cleared(client: httpx.AsyncClient, tenant: Tenant, field: str) -> None:
    made = (await client.post(URL, headers=tenant.auth, json=GATEWAY_BODY)).json()["data"]
    answer = await client.patch(f"{URL}/{made['id']}", headers=tenant.auth, json={field: None})
    assert answer.status_code == 400
    assert [line["field"] for line in answer.json()["details"]] == [field]


BAD: list[tuple[str, Any, str]] = [
    ("name", "", "name"),
    ("name", " \t", "name"),
    ("name", "x" * 201, "name"),
    ("name", None, "name"),
    ("model", "", "model"),
    ("model", 4, "model"),
    ("base_url", "", "base_url"),
    ("base_url", "support.example.com", "base_url"),
    ("base_url", "ftp://support.example.com", "base_url"),
    ("base_url", "https://user:secret@support.example.com", "base_url"),
    ("base_url", "https://10.0.0.1/v1", "base_url"),
    ("base_url", "https://support.example.com:22/v1", "base_url"),
    ("base_url", "https://" + "x" * 2_048, "base_url"),
    ("api_key", "", "api_key"),
    ("api_key", "a\r\nX: y", "api_key"),
    ("api_key", "a b", "api_key"),
    ("api_key", "abc\n", "api_key"),
    ("api_key", "x" * 4_097, "api_key"),
    ("system_instruction", "x" * 32_001, "system_instruction"),
    ("temperature", -0.1, "temperature"),
    ("temperature", 2.1, "temperature"),
    ("temperature", "1", "temperature"),
    ("temperature", True, "temperature"),
    ("top_p", 1.01, "top_p"),
    ("max_completion_tokens", 0, "max_completion_tokens"),
    ("max_completion_tokens", 1.5, "max_completion_tokens"),
    ("stop", [""], "stop.0"),
    ("stop", ["x"] * 17, "stop"),
    ("stop", 3, "stop"),
    ("stop", "", "stop"),
    ("seed", 2**53, "seed"),
    ("seed", "1", "seed"),
    ("reasoning_effort", "very HIGH", "reasoning_effort"),
    ("tools", {}, "tools"),
    ("tools", [{"type": "web", "function": {"name": "x"}}], "tools.0.type"),
    ("tools", [{"type": "function", "function": {"name": "a b"}}], "tools.0.function.name"),
    ("tools", [{"type": "function"}], "tools.0.function"),
    ("headers", {"Host": "x"}, "headers"),
    ("headers", {"content-length": "1"}, "headers"),
    ("headers", {"Transfer-Encoding": "chunked"}, "headers"),
    ("headers", {"CONNECTION": "close"}, "headers"),
    ("headers", {"Proxy-Authorization": "x"}, "headers"),
    ("headers", {"Authorization": "x"}, "headers"),
    ("headers", {"X-A": "a\r\nX-B: b"}, "headers"),
    ("headers", {"X A": "a"}, "headers"),
    ("headers", {"X-A": "1", "x-a": "2"}, "headers"),
    ("headers", {"X-A": 1}, "headers.X-A"),
    ("headers", {f"X-{n}": "v" for n in range(33)}, "headers"),
    ("extra_body", {"model": "x"}, "extra_body"),
    ("extra_body", {"messages": []}, "extra_body"),
    ("extra_body", {"stream": False}, "extra_body"),
    ("extra_body", [], "extra_body"),
    ("forward_metadata", "url", "forward_metadata"),
    ("prices", {"input": -1}, "prices.input"),
    ("prices", {"output": 10_001}, "prices.output"),
    ("prices", {"cached": "0.1"}, "prices.cached"),
    ("prices", {"cached": 0.0000000001}, "prices.cached"),
    ("prices", {"out": 1}, "prices.out"),
    ("timeouts", {"idle_s": 0}, "timeouts.idle_s"),
    ("timeouts", {"inference_s": 3_601}, "timeouts.inference_s"),
    ("slug", "mine:0000", "slug"),
]


@pytest.mark.parametrize(("field", "value", "named"), BAD, ids=[f"{b[0]}-{n}" for n, b in enumerate(BAD)])
async def test_bad_field_is_named_and_nothing_is_stored(
    client: httpx.AsyncClient, tenant: Tenant, field: str, value: Any, named: str
) -> None:
    answer = await client.post(URL, headers=tenant.auth, json=GATEWAY_BODY | {field: value})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert {line["field"] for line in answer.json()["details"]} == {named}
    assert (await client.get(URL, headers=tenant.auth)).json()["data"] == []


async def test_refusal_does_not_repeat_a_secret(client: httpx.AsyncClient, tenant: Tenant) -> None:
    body = GATEWAY_BODY | {"api_key": "canary key", "headers": {"X-A": "canary\n"}}
    assert "canary" not in (await client.post(URL, headers=tenant.auth, json=body)).text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "x" * 200),
        ("name", "客服 ☎"),
        ("temperature", 0),
        ("temperature", 2),
        ("stop", "END"),
        ("stop", []),
        ("seed", 2**53 - 1),
        ("prices", {"input": 10_000, "output": 0.000000001}),
        ("timeouts", {"inference_s": 3_600}),
        ("base_url", "http://127.0.0.1:8081/v1"),
        ("base_url", "https://support.example.com/openai?api-version=1"),
    ],
)
async def test_bounds_are_accepted(client: httpx.AsyncClient, tenant: Tenant, field: str, value: Any) -> None:
    answer = await client.post(URL, headers=tenant.auth, json=GATEWAY_BODY | {field: value})
    assert answer.status_code == 201, answer.text


async def test_all_faults_are_told_at_once_with_the_nearest_field(
    client: httpx.AsyncClient, tenant: Tenant
) -> None:
    body = {"nmae": "x", "base_url": "https://a.example", "temperature": 3, "prices": {"inputt": 1}}
    answer = await client.post(URL, headers=tenant.auth, json=body)
    told = {line["field"]: line["problem"] for line in answer.json()["details"]}
    assert set(told) == {"nmae", "name", "model", "temperature", "prices.inputt"}
    assert "'name'" in told["nmae"]
    assert "'input'" in told["prices.inputt"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/{id}", None),
        ("PATCH", "/{id}", {"name": "mine now"}),
        ("DELETE", "/{id}", None),
        ("POST", "/{id}/check", None),
    ],
)
async def test_gateway_of_another_account_is_unknown(
    client: httpx.AsyncClient,
    services: Services,
    tenant: Tenant,
    stranger: Tenant,
    method: str,
    path: str,
    body: dict[str, str] | None,
) -> None:
    """C181."""
    row = await make_gateway(services, tenant)
    answers = [
        await client.request(method, URL + path.format(id=gateway_id), headers=stranger.auth, json=body)
        for gateway_id in (row.id, UNKNOWN, "no-id")
    ]
    assert [answer.status_code for answer in answers] == [404] * 3
    assert answers[0].json() == answers[1].json() == answers[2].json()
    kept = await client.get(f"{URL}/{row.id}", headers=tenant.auth)
    assert kept.json()["data"]["name"] == "Shop support"
    assert (await client.get(URL, headers=stranger.auth)).json()["data"] == []


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
async def test_each_endpoint_wants_a_private_key_with_its_scope(
    client: httpx.AsyncClient, services: Services, tenant: Tenant, method: str, path: str, scope: str
) -> None:
    row = await make_gateway(services, tenant)
    other = await make_key(services.database, tenant.account_id, scopes=["account:read"])
    url = URL + path.format(id=row.id)
    body = GATEWAY_BODY if method in ("POST", "PATCH") else None
    assert (await client.request(method, url, json=body)).status_code == 401
    as_public = await client.request(method, url, headers=tenant.public.auth, json=body)
    assert (as_public.status_code, as_public.json()["code"]) == (403, "public_key_refused")
    without = await client.request(method, url, headers=other.auth, json=body)
    assert (without.status_code, without.json()["details"]) == (403, {"scopes": [scope]})


async def test_unused_gateway_is_deleted(
    client: httpx.AsyncClient, services: Services, tenant: Tenant
) -> None:
    row = await make_gateway(services, tenant)
    assert (await client.delete(f"{URL}/{row.id}", headers=tenant.auth)).status_code == 204
    assert (await client.get(f"{URL}/{row.id}", headers=tenant.auth)).status_code == 404
    assert (await client.delete(f"{URL}/{row.id}", headers=tenant.auth)).status_code == 404


async def test_check_tells_in_plain_words_that_nobody_answers(
    client: httpx.AsyncClient, services: Services, tenant: Tenant, unused_tcp_port: int
) -> None:
    row = await make_gateway(services, tenant, base_url=f"http://127.0.0.1:{unused_tcp_port}/v1")
    answer = await client.post(f"{URL}/{row.id}/check", headers=tenant.auth)
    assert answer.status_code == 200
    report = answer.json()["data"]
    assert (report["ok"], report["code"], report["streams"]) == (False, "connect_failed", None)
    assert "Check the address" in report["fault"]
