"""Reads direct evaluations as cheaply as can be: raw sockets, nothing parsed but the end.

Its order comes as JSON on standard input: `port`, `path`, `at_once`, and for each evaluation a `key` and
a `body`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from functools import partial
from typing import Any, cast

import uvloop

from scripts.hotpath.meter import OwnMeter, tell

_LAST_BYTES = 1_000
_END = b'"type":"chat.validation.end"'


class _Reading(asyncio.Protocol):
    def __init__(self, request: bytes) -> None:
        self._request = request
        self._last = b""
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.WriteTransport", transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        self._last = (self._last + data)[-_LAST_BYTES:]

    def connection_lost(self, exc: Exception | None) -> None:
        if _END in self._last:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(RuntimeError(f"a stream without its end: {self._last!r} {exc}"))


def _request(path: str, key: str, body: dict[str, Any]) -> bytes:
    data = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    return head.encode() + data


def _same(reading: _Reading) -> _Reading:
    return reading


async def _read(order: dict[str, Any]) -> None:
    loop = asyncio.get_running_loop()
    requests = iter([_request(order["path"], one["key"], one["body"]) for one in order["evaluations"]])

    async def slot() -> None:
        for request in requests:
            reading = _Reading(request)
            await loop.create_connection(partial(_same, reading), "127.0.0.1", order["port"])
            await reading.ended

    with OwnMeter() as meter:
        await asyncio.gather(*(slot() for _ in range(order["at_once"])))
    tell(meter.spending)


if __name__ == "__main__":
    uvloop.run(_read(json.load(sys.stdin)))
