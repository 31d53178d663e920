"""What a worker answers over HTTP: `/metrics`, `/livez`, `/readyz`, if it was given an address."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web

from parley.server.telemetry.page import CONTENT_TYPE, MetricsPage

GRACE_S: Final = 1.0
"""What an open scrape gets when the process stops."""

Ready = Callable[[], Awaitable[dict[str, str]]]
"""What the process stands on, by name; raises where it cannot work."""


@asynccontextmanager
async def listening(host: str, port: int, token: str, page: MetricsPage, ready: Ready) -> AsyncIterator[int]:
    """Answer while the block runs; the port. With a `token`, metrics want it as Bearer.

    Raises OSError for an address that is taken.
    """
    app = web.Application()
    app.router.add_get("/livez", _alive)
    app.router.add_get("/readyz", _Readiness(ready).answer)
    app.router.add_get("/metrics", _Metrics(page, token).answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=GRACE_S)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def _alive(_request: web.Request) -> web.Response:
    return web.json_response({"data": {"status": "alive"}})


class _Readiness:
    def __init__(self, ready: Ready) -> None:
        self._ready = ready

    async def answer(self, _request: web.Request) -> web.Response:
        try:
            return web.json_response({"data": await self._ready()})
        except Exception as fault:
            # Whatever is wrong, the answer is the same: no work is done here now.
            code = getattr(fault, "code", "internal_error")
            return web.json_response({"error": "This process cannot work now.", "code": code}, status=503)


class _Metrics:
    def __init__(self, page: MetricsPage, token: str) -> None:
        self._page = page
        self._wanted = f"Bearer {token}".encode() if token else None

    async def answer(self, request: web.Request) -> web.Response:
        given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        if self._wanted is not None and not hmac.compare_digest(given, self._wanted):
            return web.json_response(
                {"error": "The operators' token is wanted.", "code": "operator_token_refused"}, status=401
            )
        return web.Response(body=await self._page.text(), headers={"Content-Type": CONTENT_TYPE})
