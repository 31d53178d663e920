"""What surrounds every request: its id, its log line, the last catch, the byte cap, the host check."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable, Sequence
from typing import Any

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from parley.server.accounts.credentials import SCOPE_NAME, take_query_keys
from parley.server.api.rendering import error_response
from parley.server.errors import BodyTooLarge, InternalError, InvalidRequest, RequestTooSlow, Restarting
from parley.server.kit.ids import new_id
from parley.server.logs import logger
from parley.server.telemetry.metrics import Metrics

_log = logger("parley.api")
_GIVEN_ID = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
_QUIET = ("/livez", "/readyz")


class RequestShell:
    """The outermost layer of ours: names a request, hides its key, logs it, answers what nobody caught."""

    def __init__(self, app: ASGIApp, takes_query_key: bool, metrics: Metrics | None = None) -> None:
        self._app = app
        self._takes_query_key = takes_query_key
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        query_keys = take_query_keys(scope)
        scope[SCOPE_NAME] = query_keys if self._takes_query_key else ()
        given = Headers(scope=scope).get("x-request-id", "")
        request_id = given if _GIVEN_ID.fullmatch(given) else str(new_id())
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            await self._serve(scope, receive, send, request_id)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, request_id: str) -> None:
        began = time.perf_counter()
        status = 0

        async def send_named(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if self._metrics is not None:
                    head_s = time.perf_counter() - began
                    self._metrics.answered(scope["method"], _route(scope), status, head_s)
                MutableHeaders(scope=message)["X-Request-Id"] = request_id
            await send(message)

        try:
            await self._app(scope, receive, send_named)
        except asyncio.CancelledError:
            # The server's, when the process has to leave: nobody else cancels a request.
            if status:
                raise
            await error_response(Restarting())(scope, receive, send_named)
        except Exception:
            _log.exception("request_failed", method=scope["method"], path=scope["path"])
            if status:
                raise
            error = InternalError(details={"request_id": request_id})
            await error_response(error)(scope, receive, send_named)
        finally:
            if scope["path"] not in _QUIET:
                took_ms = round((time.perf_counter() - began) * 1000, 1)
                _log.info(
                    "request", method=scope["method"], path=scope["path"], status=status, took_ms=took_ms
                )


def _route(scope: Scope) -> str:
    """The route's pattern, so that ids and whatever strangers ask for make no metrics of their own."""
    return getattr(scope.get("route"), "path", "none")


class HostCheck:
    """Answers known Host headers only: a foreign page cannot reach a local stack by a name of its own.

    Of two Host headers a server in front may have believed the other one, so they are refused everywhere.
    """

    def __init__(self, app: ASGIApp, allowed: Iterable[str] = ()) -> None:
        """Without `allowed` every one Host is answered."""
        self._app = app
        self._allowed = frozenset(host.lower() for host in allowed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        problem = self._problem(Headers(scope=scope).getlist("host")) if scope["type"] == "http" else None
        if problem is not None:
            await error_response(InvalidRequest(problem))(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _problem(self, hosts: Sequence[str]) -> str | None:
        if len(hosts) > 1:
            return "Send one Host header."
        host = hosts[0].lower() if hosts else ""
        name = host if host.endswith("]") else host.rsplit(":", 1)[0]
        if self._allowed and name not in self._allowed:
            return "This server does not answer to this Host header."
        return None


class BodyCap:
    """Reads a body up to its cap before anything parses it; larger ones are 413, chunked ones too.

    One that is not there in time is 408. Until it is there, nothing is held for it but its own bytes.
    """

    def __init__(
        self,
        app: ASGIApp,
        max_bytes: int,
        timeout_s: float,
        larger: Sequence[tuple[re.Pattern[str], int]] = (),
    ) -> None:
        """`timeout_s` bounds the whole body; `larger` pairs patterns of whole paths with their own caps."""
        self._app = app
        self._max_bytes = max_bytes
        self._timeout_s = timeout_s
        self._larger = larger

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = Headers(scope=scope) if scope["type"] == "http" else None
        if headers is None or ("content-length" not in headers and "transfer-encoding" not in headers):
            await self._app(scope, receive, send)
            return
        max_bytes = self._cap(scope["path"])
        length = headers.get("content-length", "0")
        messages = None
        if length.isascii() and length.isdigit() and len(length) < 20 and int(length) <= max_bytes:
            try:
                async with asyncio.timeout(self._timeout_s):
                    messages = await _read(receive, max_bytes)
            except TimeoutError:
                await error_response(RequestTooSlow())(scope, receive, send)
                return
        if messages is None:
            await error_response(BodyTooLarge.over(max_bytes))(scope, receive, send)
            return
        if messages[-1]["type"] == "http.disconnect":
            return  # the caller left in the midst of the body: nobody is there to be answered
        await self._app(scope, _replay(messages, receive), send)

    def _cap(self, path: str) -> int:
        return next((cap for pattern, cap in self._larger if pattern.fullmatch(path)), self._max_bytes)


async def _read(receive: Receive, max_bytes: int) -> list[Message] | None:
    messages: list[Message] = []
    size = 0
    while True:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        if size > max_bytes:
            return None
        if message["type"] != "http.request" or not message.get("more_body", False):
            return messages


def _replay(messages: list[Message], receive: Receive) -> Receive:
    waiting = iter(messages)

    async def next_message() -> Any:
        for message in waiting:
            return message
        return await receive()

    return next_message
