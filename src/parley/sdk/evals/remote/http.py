"""As much of HTTP over ASGI as the route needs: a bounded body in, JSON out."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


class Declined(Exception):
    """A request that is answered with an error. `code` and `message` go out as they stand."""

    def __init__(self, status: int, code: str, message: str, *, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.retry_after_s = retry_after_s


class Gone(Exception):
    """The client went away before its request was whole."""


async def read_json(receive: Receive, max_bytes: int) -> Any:
    """The body of a request. Raises `Declined`, `Gone`."""
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        body += message.get("body", b"")
        if len(body) > max_bytes:
            raise Declined(413, "body_too_large", f"The body has more than {max_bytes:,} bytes.")
        if not message.get("more_body", False):
            break
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Declined(400, "not_json", "The body is not JSON.") from None


async def send_json(
    send: Send, status: int, data: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> None:
    """Answer with `data`."""
    body = json.dumps(data, allow_nan=False).encode()
    told = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "cache-control": "no-store",
        **(headers or {}),
    }
    lines = [(name.encode("ascii"), value.encode("ascii")) for name, value in told.items()]
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": body})


async def send_declined(send: Send, declined: Declined) -> None:
    """Answer with an error."""
    headers = {} if declined.retry_after_s is None else {"retry-after": str(declined.retry_after_s)}
    if declined.status == 401:
        headers["www-authenticate"] = "Bearer"
    error = {"error": {"code": declined.code, "message": declined.message}}
    await send_json(send, declined.status, error, headers)


def header(scope: Scope, name: bytes) -> str:
    """The value of a header, empty without it."""
    found = (value for key, value in scope.get("headers", ()) if key.lower() == name)
    return bytes(next(found, b"")).decode("latin-1")
