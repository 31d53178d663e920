"""The dashboard's page and files over HTTP."""

from __future__ import annotations

import gzip

import httpx
import pytest

from parley.server.wiring import Services

GUARDS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
}


@pytest.mark.parametrize(
    "path", ["/", "/sign-in", "/tests", "/tests/x/runs/y", "/account/keys", "/evaluations"]
)
async def test_every_address_of_the_dashboard_is_the_one_page(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-cache"
    assert "script-src 'self' 'sha256-" in answer.headers["content-security-policy"]
    assert answer.headers.items() >= GUARDS.items()
    assert '<div id="app">' in answer.text


async def test_files_of_this_version_are_kept_for_good(client: httpx.AsyncClient, services: Services) -> None:
    answer = await client.get(services.assets.address("app.js"))
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers.items() >= GUARDS.items()
    old = await client.get("/static/0123456789abcdef/app.js")
    assert (old.content, old.headers["cache-control"]) == (answer.content, "no-cache")
    assert (await client.get("/static/0123456789abcdef/pages/tests.js")).status_code == 404


async def test_files_are_pressed_for_those_who_take_it(client: httpx.AsyncClient, services: Services) -> None:
    address = services.assets.address("app.js")
    plain = await client.get(address, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    async with client.stream("GET", address, headers={"Accept-Encoding": "br, gzip"}) as pressed:
        raw = b"".join([chunk async for chunk in pressed.aiter_raw()])
    assert pressed.headers["content-encoding"] == "gzip"
    assert pressed.headers["vary"] == "Accept-Encoding"
    assert gzip.decompress(raw) == plain.content


async def test_what_the_browser_has_is_not_sent_again(client: httpx.AsyncClient) -> None:
    first = await client.get("/tests")
    again = await client.get("/tests", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["content-security-policy"] == first.headers["content-security-policy"]
    other = await client.get("/tests", headers={"If-None-Match": '"other"'})
    assert other.status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/x/nothing.js",
        "/static/x/../assets.py",
        "/static/x/%2e%2e/assets.py",
        "/static/x/index.html",
        "/static/",
    ],
)
async def test_nothing_else_is_served(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
