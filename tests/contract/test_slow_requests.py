"""Requests that drip, linger or come with two Host headers, over a real socket."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from parley.server.api.protocol import HttpProtocol
from parley.server.config import Settings
from tests.conftest import LiveServer
from tests.factories.accounts import Tenant
from tests.stage import PATIENCE_S, until

HEAD_S, BODY_S = 0.4, 0.6
KEYS = "/api/v1/keys"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Little patience with heads and bodies."""
    api = settings.api.model_copy(update={"head_timeout_s": HEAD_S, "body_timeout_s": BODY_S})
    return dataclasses.replace(settings, api=api)


@asynccontextmanager
async def dripping(
    server: LiveServer | int, start: bytes, drip: bytes, every_s: float = 0.05
) -> AsyncIterator[asyncio.StreamReader]:
    """A connection that sends `start` and then `drip` again and again; what the server says to it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(server))

    async def drips() -> None:
        while not writer.is_closing():
            writer.write(drip)
            await asyncio.sleep(every_s)

    writer.write(start)
    task = asyncio.create_task(drips())
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield reader
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        writer.close()


def port_of(server: LiveServer | int) -> int:
    """Where it listens."""
    return server if isinstance(server, int) else int(server.url.rpartition(":")[2])


async def said_to_the_end(reader: asyncio.StreamReader) -> bytes:
    """Everything until the server closes, however rudely."""
    said = bytearray()
    try:
        while piece := await reader.read(65_536):
            said += piece
    except ConnectionResetError:
        pass
    return bytes(said)


def _post(tenant: Tenant, length: int) -> bytes:
    auth = "".join(f"{name}: {value}\r\n" for name, value in tenant.auth.items())
    kind = "Content-Type: application/json"
    return f"POST {KEYS} HTTP/1.1\r\nHost: x\r\n{auth}{kind}\r\nContent-Length: {length}\r\n\r\n".encode()


def too_slow(said: bytes) -> bool:
    """Whether it is one whole 408 in the envelope, after which the connection ends."""
    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 "), said
    assert b"connection: close" in head.lower()
    assert said.count(b"HTTP/1.1") == 1
    return bool(json.loads(body)["code"] == "request_too_slow")


async def test_dripped_head_is_cut_with_408(live_server: LiveServer) -> None:
    async with dripping(live_server, b"GET /livez HTTP/1.1\r\nHost: x\r\n", b"X-A: b\r\n") as reader:
        assert too_slow(await said_to_the_end(reader))


@pytest.mark.parametrize("drip", [b"", b"\r\n"])
async def test_connection_that_asks_nothing_is_closed_without_a_word(
    live_server: LiveServer, drip: bytes
) -> None:
    async with dripping(live_server, b"", drip) as reader:
        assert await said_to_the_end(reader) == b""


async def test_empty_lines_after_an_answer_do_not_hold_the_connection(live_server: LiveServer) -> None:
    async with dripping(live_server, b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", b"\r\n") as reader:
        said = await said_to_the_end(reader)
    assert said.startswith(b"HTTP/1.1 200 ")
    assert said.count(b"HTTP/1.1") == 1


async def test_dripped_body_is_cut_with_408_and_holds_nothing(
    live_server: LiveServer, tenant: Tenant
) -> None:
    pool = live_server.services.database.engine.pool
    async with dripping(live_server, _post(tenant, 100_000), b" ") as reader:
        await asyncio.sleep(BODY_S / 3)
        assert pool.checkedout() == 0  # type: ignore[attr-defined]
        assert too_slow(await said_to_the_end(reader))


async def test_dripped_chunks_are_cut_too(live_server: LiveServer, tenant: Tenant) -> None:
    start = _post(tenant, 1).replace(b"Content-Length: 1", b"Transfer-Encoding: chunked")
    async with dripping(live_server, start, b"1\r\n \r\n") as reader:
        assert too_slow(await said_to_the_end(reader))


async def test_body_that_was_answered_before_its_end_does_not_hold_the_connection(
    live_server: LiveServer, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley.server.api.protocol.ANSWER_S", 0.2)
    async with dripping(live_server, _post(tenant, 2_000_000), b" ") as reader:
        said = await said_to_the_end(reader)
    assert said.startswith(b"HTTP/1.1 413 ")


async def test_slow_body_that_is_whole_in_time_is_answered(live_server: LiveServer, tenant: Tenant) -> None:
    body = b'{"name": "slow but whole"}'
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(live_server))
    writer.write(_post(tenant, len(body)))
    for place in range(0, len(body), 9):
        await asyncio.sleep(0.05)
        writer.write(body[place : place + 9])
    assert (await reader.readline()).split()[1] == b"201"
    writer.close()


async def test_connection_is_kept_for_requests_that_come_apart(live_server: LiveServer) -> None:
    """The time between requests is no slow head."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(live_server))
    for _ in range(3):
        writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.readline()).split()[1] == b"200"
        await reader.readuntil(b'"alive"}}')
        await asyncio.sleep(HEAD_S * 1.2)
    writer.close()


async def test_early_half_of_a_next_request_does_not_cut_the_answer_before_it() -> None:
    async def slow(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
        await asyncio.sleep(HEAD_S * 2)
        await send({"type": "http.response.body", "body": b"whole"})

    protocol = HttpProtocol.patient_for(head_s=HEAD_S, body_s=BODY_S)
    config = uvicorn.Config(slow, port=0, http=protocol, ws="none", lifespan="off", log_config=None)
    async with served(uvicorn.Server(config)) as port:
        start = b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n"
        async with dripping(port, start, b"", every_s=60) as reader:
            answer, _, rest = (await said_to_the_end(reader)).partition(b"whole")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert too_slow(rest)


@asynccontextmanager
async def served(server: uvicorn.Server) -> AsyncIterator[int]:
    """A server that runs while the block does; its port."""
    task = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await task


@pytest.mark.parametrize("hosts", [("a.example", "b.example"), ("a.example", "a.example")])
async def test_two_host_headers_are_refused(live_server: LiveServer, hosts: tuple[str, str]) -> None:
    lines = "".join(f"Host: {host}\r\n" for host in hosts)
    request = f"GET /livez HTTP/1.1\r\n{lines}Connection: close\r\n\r\n".encode()
    async with dripping(live_server, request, b"", every_s=60) as reader:
        said = await said_to_the_end(reader)
    assert said.startswith(b"HTTP/1.1 400 ")
    assert b"Send one Host header" in said
