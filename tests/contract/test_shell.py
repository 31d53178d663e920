"""What every route shares: envelopes, request ids, health, hosts, CORS, keys in queries, documents."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from pydantic import SecretStr

from parley.server.api.app import create_app
from parley.server.api.serve import server_of
from parley.server.config import ApiSettings, DatabaseSettings, RedisSettings, Settings
from parley.server.errors import answers
from parley.server.wiring import Services, open_services
from tests.conftest import LiveServer
from tests.factories.accounts import Tenant
from tests.stage import until

WHOAMI = "/api/v1/whoami"


@asynccontextmanager
async def client_with(settings: Settings, **changes: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an app whose settings differ in some groups."""
    async with open_services(dataclasses.replace(settings, **changes)) as services:
        transport = httpx.ASGITransport(create_app(services), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://api.test") as client:
            yield client


async def test_unknown_address_is_told_in_the_envelope(client: httpx.AsyncClient) -> None:
    for path in ("/nothing", "/api/v1/nothing", "/api/v1/keys/", "/api/v1/%00"):
        answer = await client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert set(answer.json()) == {"error", "code", "details"}


async def test_wrong_method_is_told_with_the_right_ones(client: httpx.AsyncClient) -> None:
    answer = await client.put(WHOAMI)
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert "GET" in answer.headers["allow"]


async def test_every_answer_names_its_request(client: httpx.AsyncClient) -> None:
    given = await client.get("/livez", headers={"X-Request-Id": "mine-7"})
    assert given.headers["x-request-id"] == "mine-7"
    made = await client.get("/nothing", headers={"X-Request-Id": "no good\tid"})
    assert len(made.headers["x-request-id"]) == 36


async def test_fault_of_ours_is_told_without_its_cause(
    app: FastAPI, client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    @app.get("/broken")
    async def broken() -> None:
        raise RuntimeError("canary-cause")

    answer = await client.get("/broken")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert answer.json()["details"] == {"request_id": answer.headers["x-request-id"]}
    assert "canary" not in answer.text
    assert "canary-cause" in caplog.text


async def test_request_that_outlasts_a_stop_is_503_with_retry_after(settings: Settings) -> None:
    """Nobody gets a 500 since a process had to leave."""
    begun = asyncio.Event()
    hasty = dataclasses.replace(settings, api=ApiSettings(port=0, shutdown_grace_s=0))
    async with open_services(hasty) as services:
        server = server_of(services)
        app = server.config.app
        assert isinstance(app, FastAPI)

        @app.get("/slow")
        async def slow() -> None:
            begun.set()
            await asyncio.Event().wait()

        serving = asyncio.create_task(server.serve())
        await until(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=10) as client:
            asking = asyncio.create_task(client.get("/slow"))
            await asyncio.wait_for(begun.wait(), 5)
            server.should_exit = True
            answer = await asking
        await serving
    assert (answer.status_code, answer.json()["code"]) == (503, "restarting")
    assert int(answer.headers["retry-after"]) >= 1


async def test_health_wants_no_key(client: httpx.AsyncClient) -> None:
    assert (await client.get("/livez")).json()["data"] == {"status": "alive"}
    assert (await client.get("/readyz")).json()["data"] == {"database": "ready", "queue": "ready"}


async def test_redis_away_leaves_the_process_ready(settings: Settings, unused_tcp_port: int) -> None:
    away = RedisSettings(url=SecretStr(f"redis://127.0.0.1:{unused_tcp_port}/0"))
    async with client_with(settings, redis=away) as client:
        answer = await client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["data"] == {"database": "ready", "queue": "degraded"}


async def test_postgres_away_is_503_with_retry_after(
    settings: Settings, tenant: Tenant, unused_tcp_port: int
) -> None:
    away = DatabaseSettings(url=SecretStr(f"postgresql://postgres@127.0.0.1:{unused_tcp_port}/x"))
    async with client_with(settings, database=away) as client:
        for path in (WHOAMI, "/api/v1/keys", "/api/v1/ai-gateways", "/readyz"):
            answer = await client.get(path, headers=tenant.auth)
            assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable"), path
            assert int(answer.headers["retry-after"]) >= 1
        assert (await client.get("/livez")).status_code == 200


async def test_foreign_host_is_refused(settings: Settings) -> None:
    async with client_with(settings, api=ApiSettings(allowed_hosts=("127.0.0.1", "[::1]"))) as client:
        for host, status in (
            ("127.0.0.1:8000", 200),
            ("[::1]:8000", 200),
            ("evil.example", 400),
            ("127.0.0.1.evil.example:8000", 400),
        ):
            assert (await client.get("/livez", headers={"Host": host})).status_code == status, host


async def test_cors_is_off_unless_origins_are_named(client: httpx.AsyncClient, settings: Settings) -> None:
    asked = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    assert (await client.options(WHOAMI, headers=asked)).status_code == 405
    async with client_with(settings, api=ApiSettings(cors_origins=("https://app.example",))) as open_client:
        answer = await open_client.options(WHOAMI, headers=asked)
        assert answer.headers["access-control-allow-origin"] == "https://app.example"
        foreign = await open_client.options(WHOAMI, headers=asked | {"Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in foreign.headers


async def test_key_in_the_query_can_be_switched_off(settings: Settings, tenant: Tenant) -> None:
    async with client_with(settings, api=ApiSettings(query_key=False)) as client:
        answer = await client.get(WHOAMI, params={"api-key": tenant.private.token})
    assert (answer.status_code, answer.json()["code"]) == (401, "missing_api_key")


async def test_key_in_the_query_reaches_no_log(
    client: httpx.AsyncClient,
    app: FastAPI,
    tenant: Tenant,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    @app.get("/seen")
    async def seen(request: Request) -> str:
        return f"{request.url} {request.scope['query_string']!r}"

    with caplog.at_level(logging.DEBUG):
        answer = await client.get(f"{WHOAMI}?limit=5&API-Key={tenant.private.token}&x=%20y")
        inside = await client.get(
            "/seen", params={"api%2Dkey": "a", "api-key": tenant.private.token, "x": " y"}
        )
    assert answer.status_code == 200
    assert "x=+y" in inside.text
    assert tenant.private.token not in inside.text
    ours = "".join(record.getMessage() for record in caplog.records if not record.name.startswith("http"))
    assert tenant.private.token not in ours + "".join(capfd.readouterr())


async def test_requests_of_one_key_are_paced(settings: Settings, tenant: Tenant) -> None:
    async with client_with(settings, api=ApiSettings(requests_per_minute=30)) as client:
        statuses = [(await client.get(WHOAMI, headers=tenant.auth)).status_code for _ in range(4)]
        assert statuses == [200, 200, 200, 429]
        answer = await client.get(WHOAMI, headers=tenant.auth)
        assert answer.json()["code"] == "request_rate_limited"
        assert int(answer.headers["retry-after"]) >= 1
        assert (await client.get(WHOAMI, headers=tenant.public.auth)).status_code == 200


async def test_document_names_every_route_with_its_errors(client: httpx.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    known_codes = {kind.code for kind in answers()}
    assert {"/livez", "/readyz", WHOAMI, "/api/v1/keys", "/api/v1/ai-gateways"} <= set(document["paths"])
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation.get("summary"), (method, path)
            assert "422" not in operation["responses"]
            if path.startswith("/api/"):
                assert {"400", "401", "429", "500", "503"} <= set(operation["responses"]), (method, path)
            for status, response in operation["responses"].items():
                examples = response.get("content", {}).get("application/json", {}).get("examples", {})
                if int(status) >= 400:
                    assert set(examples) <= known_codes
                    assert examples, (method, path, status)
    assert set(document["components"]["securitySchemes"]) == {"Bearer", "Basic", "Header", "Query"}
    assert "HTTPValidationError" not in document["components"]["schemas"]
    without_version = {path for path in document["paths"] if not path.startswith("/api/v1/")}
    assert without_version == {"/livez", "/readyz", "/schemas/run-export-1.json"}
    schemas = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(_references(document)) <= schemas


@pytest.mark.parametrize("path", ["/api/v1/keys", "/api/v1/ai-gateways", "/api/v1/agentic-tests"])
async def test_body_of_a_create_is_shown_by_an_example(client: httpx.AsyncClient, path: str) -> None:
    document = (await client.get("/openapi.json")).json()
    content = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    shapes = [document["components"]["schemas"][name.rpartition("/")[2]] for name in _references(content)]
    assert {"example", "examples"} & {name for shown in (content, *shapes) for name in shown}


async def test_page_of_the_reference_needs_nothing_from_elsewhere(client: httpx.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    page = await client.get("/docs")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for loading in ("<script", "src=", "@import", "<link"):
        assert loading not in page.text
    for path in document["paths"]:
        assert f"<code>{path}</code>" in page.text
    for shown in ("max_completion_tokens", "invalid_request", "gateway_in_use", "sk-par-"):
        assert shown in page.text


async def test_fields_of_a_body_that_may_be_left_out_are_shown(client: httpx.AsyncClient) -> None:
    page = (await client.get("/docs")).text
    start = page[page.index('id="post-api-v1-agentic-tests-test_id-runs"') :]
    assert "<code>seed</code>" in start[: start.index("</section>")]


async def test_a_cancel_says_that_it_may_answer_200_and_202(client: httpx.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    cancel = document["paths"]["/api/v1/agentic-tests/{test_id}/runs/{run_id}/cancel"]["post"]
    assert {"200", "202"} <= set(cancel["responses"])


async def test_the_bare_address_is_the_dashboard(client: httpx.AsyncClient) -> None:
    answer = await client.get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for inner in node.values():
            yield from _references(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from _references(inner)


async def _said_to(live_server: LiveServer, *pieces: bytes) -> bytes:
    """What the server says to these bytes until it closes the connection; it may close in their midst."""
    host, port = live_server.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        with suppress(ConnectionError):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
        async with asyncio.timeout(10):
            return await reader.read(4_096)
    except ConnectionError:
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize(
    ("start", "more"), [(b"X-Long: ", b"a" * 8_192), (b"", b"X-Short: b\r\n" * 700)], ids=["long", "many"]
)
async def test_head_without_end_is_refused_before_it_fills_the_memory(
    live_server: LiveServer, start: bytes, more: bytes
) -> None:
    """Whoever sends it has shown no key."""
    begin = b"GET /livez HTTP/1.1\r\nHost: api.test\r\n" + start
    said = await _said_to(live_server, begin, *[more] * 200)
    assert not said or said.startswith(b"HTTP/1.1 400 ")
    async with httpx.AsyncClient() as client:
        assert (await client.get(f"{live_server.url}/livez")).status_code == 200


async def test_long_body_in_many_reads_is_no_long_head(live_server: LiveServer, tenant: Tenant) -> None:
    headers = {"x-api-key": tenant.private.token, "X-Filler": "f" * 30_000}
    async with httpx.AsyncClient() as client:
        for _ in range(3):
            answer = await client.post(
                f"{live_server.url}/api/v1/agentic-tests", headers=headers, json={"name": "n" * 500_000}
            )
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


async def test_caller_who_leaves_within_the_body_is_no_fault_of_ours(
    services: Services, caplog: pytest.LogCaptureFixture
) -> None:
    messages = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])
    sent: list[Any] = []

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": "/api/v1/agentic-tests",
        "query_string": b"",
        "headers": [(b"content-length", b"100"), (b"content-type", b"application/json")],
    }
    with caplog.at_level(logging.ERROR):
        await create_app(services)(scope, receive, send)
    assert (sent, caplog.records) == ([], [])
