"""How the API takes bodies: what cannot be read, what is too large, who is told first."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.conftest import LiveServer
from tests.factories.accounts import Tenant

URL = "/api/v1/keys"
JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("body", "field", "problem"),
    [
        (b"", "", "is empty; send a JSON object"),
        (b" ", "", "is empty; send a JSON object"),
        (b"{", "", "not JSON"),
        (b'{"name": "x",}', "", "not JSON"),
        (b'{"name": NaN}', "", "NaN"),
        (b'{"name": -Infinity}', "", "-Infinity"),
        (b'{"name": 1e999}', "name", "too large"),
        (b'{"name": "a", "name": "b"}', "name", "twice"),
        (b'{"name": "a\\u0000b"}', "name", "NUL"),
        (b'{"name": "a\\ud800b"}', "name", "surrogate"),
        (b'{"na\\u0000me": "b"}', "", "NUL"),
        (b'{"scopes": ["a\\udfffb"]}', "scopes.0", "surrogate"),
        (b'{"name": "\xff"}', "", "UTF-8"),
        (json.dumps({"name": "x"}).encode("utf-16"), "", "UTF-8"),
        (b"\xef\xbb\xbf{}", "", "not JSON"),
        (b"[" * 100_000, "", "nested"),
        (b'{"name":' + b'{"a":' * 80 + b"1" + b"}" * 81, "", "nested"),
        (b'{"name": ' + b"9" * 5_000 + b"}", "", "digits"),
        (b"[]", "", "object"),
        (b'"name"', "", "object"),
        (b"null", "", "object"),
    ],
)
async def test_unreadable_body_is_told_with_its_reason(
    client: httpx.AsyncClient, tenant: Tenant, body: bytes, field: str, problem: str
) -> None:
    answer = await client.post(URL, headers=tenant.auth | JSON, content=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    (line,) = answer.json()["details"]
    assert line["field"] == field
    assert problem in line["problem"]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x"]
)
async def test_other_content_types_are_refused(client: httpx.AsyncClient, tenant: Tenant, kind: str) -> None:
    sent = tenant.auth | {"Content-Type": kind}
    answer = await client.post(URL, headers=sent, content=b'{"name": "x"}')
    assert answer.status_code == 400
    assert answer.json()["details"] == [{"field": "", "problem": "send it as application/json"}]


@pytest.mark.parametrize("kind", [None, "application/json; charset=utf-8", "application/vnd.api+json"])
async def test_json_content_types_are_taken(
    client: httpx.AsyncClient, tenant: Tenant, kind: str | None
) -> None:
    sent = tenant.auth | ({"Content-Type": kind} if kind else {})
    assert (await client.post(URL, headers=sent, content=b'{"name": "x"}')).status_code == 201


async def test_who_calls_is_asked_before_what_is_wrong(client: httpx.AsyncClient, tenant: Tenant) -> None:
    assert (await client.post(URL, headers=JSON, content=b"{")).status_code == 401
    assert (await client.post(URL, headers=tenant.public.auth | JSON, content=b"{")).status_code == 403


async def test_body_of_the_cap_is_read_and_one_byte_more_is_not(
    client: httpx.AsyncClient, tenant: Tenant
) -> None:
    cap = 1_000_000
    at_cap = b'{"name":"' + b"x" * (cap - 11) + b'"}'
    assert len(at_cap) == cap
    assert (await client.post(URL, headers=tenant.auth | JSON, content=at_cap)).status_code == 400
    over = await client.post(URL, headers=tenant.auth | JSON, content=at_cap + b" ")
    assert (over.status_code, over.json()["code"]) == (413, "body_too_large")
    assert over.json()["details"] == {"max_bytes": cap}


async def test_chunked_body_is_cut_at_the_cap(live_server: LiveServer, tenant: Tenant) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(200):
            yield b"x" * 10_000

    async with httpx.AsyncClient(base_url=live_server.url) as client:
        answer = await client.post(URL, headers=tenant.auth | JSON, content=endless())
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


async def test_chunked_body_under_the_cap_is_read(live_server: LiveServer, tenant: Tenant) -> None:
    async def in_two() -> AsyncIterator[bytes]:
        yield b'{"name":'
        yield b'"x"}'

    async with httpx.AsyncClient(base_url=live_server.url) as client:
        answer = await client.post(URL, headers=tenant.auth | JSON, content=in_two())
    assert answer.status_code == 201


@pytest.mark.parametrize("length", ["-5", "12x", "99999999999999999999"])
async def test_strange_length_is_not_trusted(live_server: LiveServer, tenant: Tenant, length: str) -> None:
    port = int(live_server.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {URL} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n{_line(tenant)}\r\n\r\n"
    writer.write(head.encode())
    status = (await reader.readline()).split()[1]
    writer.close()
    await writer.wait_closed()
    assert status in (b"400", b"413")


def _line(tenant: Tenant) -> str:
    return "\r\n".join(f"{name}: {value}" for name, value in (tenant.auth | JSON).items())
