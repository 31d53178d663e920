"""The guarded way out over real sockets of loopback, with a stubbed resolver."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any

import aiohttp
import pytest

from parley.server.outbound.address import IpAddress
from parley.server.outbound.connector import guarded_session
from parley.server.outbound.errors import (
    AddressRefused,
    BadAddress,
    ConnectFailed,
    DeadlinePassed,
    OutboundFault,
)
from parley.server.outbound.fetch import Answer, call_address
from parley.server.outbound.guard import OutboundPolicy
from parley.server.outbound.lookup import Lookup, SystemLookup

ONE_ADDRESS = OutboundPolicy.of(networks=["127.0.0.1/32"])
"""127.0.0.1 may be called, 127.0.0.2 may not: one stands for outside, the other for inside."""
LOOPBACK_SPELLINGS = """
    127.0.0.1 127.1 2130706433 0x7f.1 0177.0.0.1 [::ffff:127.0.0.1] 127.0.0.1. 0
    localhost localhost. LOCALHOST
"""


def answer(body: bytes = b"ok", head: bytes = b"HTTP/1.1 200 OK\r\n") -> Any:
    async def play(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()

    return play


@asynccontextmanager
async def session_with(
    policy: OutboundPolicy, lookup: Lookup | None = None
) -> AsyncIterator[aiohttp.ClientSession]:
    async with guarded_session(policy, limit=4, lookup=lookup) as session:
        yield session


async def call(
    session: aiohttp.ClientSession, url: str, *, deadline_s: float = 5.0, max_body_bytes: int = 1_000
) -> Answer:
    return await call_address(
        session, "POST", url, headers={}, body=b"{}", deadline_s=deadline_s, max_body_bytes=max_body_bytes
    )


async def test_checked_address_is_dialled_under_its_name(serve: Any, stub_lookup: Any) -> None:
    """C102: resolved once, the name kept for Host."""
    server = await serve(answer())
    lookup = stub_lookup(["127.0.0.1"])
    async with session_with(ONE_ADDRESS, lookup) as session:
        got = await call(session, f"http://Hooks.Example.:{server.port}/in?x=1")
    assert (got.status, got.body, got.is_cut) == (200, b"ok", False)
    assert lookup.asked == ["hooks.example"]
    assert server.requests[0].startswith(b"POST /in?x=1 HTTP/1.1\r\n")
    assert f"Host: hooks.example:{server.port}\r\n".encode() in server.requests[0]
    assert b"Accept-Encoding: identity\r\n" in server.requests[0]


async def test_redirect_is_an_answer_and_not_followed(serve: Any) -> None:
    """C104."""
    inner = await serve(answer(b"secret"))
    head = f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{inner.port}/\r\n".encode()
    server = await serve(answer(b"", head))
    async with session_with(ONE_ADDRESS) as session:
        got = await call(session, f"http://127.0.0.1:{server.port}/")
    assert got.status == 302
    assert inner.connections == 0


async def test_hop_followed_by_mistake_is_guarded_too(serve: Any) -> None:
    head = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.2:8080/\r\n"
    server = await serve(answer(b"", head))
    async with session_with(ONE_ADDRESS) as session:
        with pytest.raises(AddressRefused):
            await session.get(f"http://127.0.0.1:{server.port}/")


async def test_rebound_name_is_checked_again_at_each_new_connection(serve: Any, stub_lookup: Any) -> None:
    """C102, C126: public at first, inside later."""
    server = await serve(answer(head=b"HTTP/1.1 200 OK\r\nConnection: close\r\n"))
    lookup = stub_lookup(["127.0.0.1"], ["127.0.0.2"])
    async with session_with(ONE_ADDRESS, lookup) as session:
        url = f"http://hooks.example:{server.port}/"
        assert (await call(session, url)).status == 200
        with pytest.raises(AddressRefused):
            await call(session, url)
    assert server.connections == 1
    assert len(lookup.asked) == 2


async def test_one_inner_answer_refuses_the_name(serve: Any, stub_lookup: Any) -> None:
    server = await serve(answer())
    async with session_with(ONE_ADDRESS, stub_lookup(["127.0.0.1", "127.0.0.2"])) as session:
        with pytest.raises(AddressRefused):
            await call(session, f"http://hooks.example:{server.port}/")
    assert server.connections == 0


@pytest.mark.parametrize("host", LOOPBACK_SPELLINGS.split())
async def test_loopback_is_refused_in_every_spelling(serve: Any, host: str) -> None:
    """C106, C108, C109, C113: with the system's own resolver."""
    server = await serve(answer())
    async with session_with(OutboundPolicy()) as session:
        with pytest.raises(AddressRefused):
            await call(session, f"http://{host}:{server.port}/")
    assert server.connections == 0


async def test_literal_is_checked_without_the_front_door(serve: Any) -> None:
    """aiohttp never asks the resolver about a literal; the connector does not rely on it."""
    server = await serve(answer())
    async with session_with(OutboundPolicy()) as session:
        with pytest.raises(AddressRefused):
            await session.get(f"http://127.0.0.1:{server.port}/")
    assert server.connections == 0


@pytest.mark.parametrize("ip", ["169.254.169.254", "fd00:ec2::254", "100.100.100.200"])
async def test_metadata_service_is_refused_through_dns(stub_lookup: Any, ip: str) -> None:
    """C115."""
    async with session_with(OutboundPolicy(), stub_lookup([ip])) as session:
        with pytest.raises(AddressRefused):
            await call(session, "http://hooks.example/")


async def test_peer_is_checked_before_a_byte_is_sent(
    serve: Any, stub_lookup: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C102: even if something below dialled another address than the one that was checked."""
    server = await serve(answer())
    monkeypatch.setattr("parley.server.outbound.connector.peer_of", lambda _conn: ip_address("127.0.0.2"))
    async with session_with(ONE_ADDRESS, stub_lookup(["127.0.0.1"])) as session:
        with pytest.raises(AddressRefused):
            await call(session, f"http://hooks.example:{server.port}/")
        await asyncio.wait_for(server.left.wait(), 5)
    assert server.requests == []


async def test_peer_that_hung_up_at_once_is_a_failed_connection(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a refusal: it may be tried again."""
    server = await serve(answer())
    monkeypatch.setattr("parley.server.outbound.connector.peer_of", lambda _conn: None)
    async with session_with(ONE_ADDRESS) as session:
        with pytest.raises(ConnectFailed):
            await call(session, f"http://127.0.0.1:{server.port}/")
    assert server.requests == []


async def test_refusals_do_not_tell_inner_from_unknown(stub_lookup: Any) -> None:
    """C129: an inner name, an unknown one and a literal read the same."""
    unknown = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    told: set[tuple[type[OutboundFault], str]] = set()
    for url, lookup in (
        ("http://db.inner:8080/", stub_lookup(["10.0.0.7"])),
        ("http://nothing.inner:8080/", stub_lookup(unknown)),
        ("http://10.0.0.7:8080/", stub_lookup([])),
    ):
        async with session_with(OutboundPolicy(), lookup) as session:
            with pytest.raises(OutboundFault) as refusal:
                await call(session, url)
        told.add((type(refusal.value), str(refusal.value)))
    assert len(told) == 1
    assert "10.0.0.7" not in str(told)


async def test_passing_lookup_failure_is_a_failed_connection(stub_lookup: Any) -> None:
    again = socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
    async with session_with(OutboundPolicy(), stub_lookup(again)) as session:
        with pytest.raises(ConnectFailed) as failed:
            await call(session, "http://hooks.example/")
    assert "hooks.example" not in failed.value.message


async def test_bad_address_never_reaches_the_resolver(stub_lookup: Any) -> None:
    lookup = stub_lookup(["127.0.0.1"])
    async with session_with(ONE_ADDRESS, lookup) as session:
        for url in ("http://a.example\\@b.example/", "http://a.example:22/", "http://u:p@a.example/"):
            with pytest.raises(BadAddress):
                await call(session, url)
        with pytest.raises(BadAddress):
            await session.get("http://a.example:22/")
    assert lookup.asked == []


async def test_environments_proxy_is_ignored(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = await serve(answer())
    proxy = await serve(answer(b"from the proxy"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "https_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
    monkeypatch.delenv("no_proxy", raising=False)
    async with session_with(ONE_ADDRESS) as session:
        assert (await call(session, f"http://127.0.0.1:{server.port}/")).body == b"ok"
    assert proxy.connections == 0


async def test_cookies_are_not_kept(serve: Any) -> None:
    server = await serve(answer(head=b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Path=/\r\n"))
    async with session_with(ONE_ADDRESS) as session:
        for _ in range(2):
            await call(session, f"http://127.0.0.1:{server.port}/")
    assert len(server.requests) == 2
    assert b"cookie" not in server.requests[1].lower()


async def test_body_is_cut_at_the_cap_and_the_rest_never_read(serve: Any) -> None:
    sent = 0

    async def flood(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()
            sent += 65_536

    server = await serve(flood)
    async with session_with(ONE_ADDRESS) as session:
        got = await call(session, f"http://127.0.0.1:{server.port}/", max_body_bytes=100)
        await asyncio.wait_for(server.left.wait(), 5)
    assert (len(got.body), got.is_cut) == (100, True)
    assert sent < 50_000_000


async def test_body_of_exactly_the_cap_is_whole(serve: Any) -> None:
    server = await serve(answer(b"x" * 100))
    async with session_with(ONE_ADDRESS) as session:
        got = await call(session, f"http://127.0.0.1:{server.port}/", max_body_bytes=100)
    assert (len(got.body), got.is_cut) == (100, False)


async def test_compressed_bomb_is_capped_before_and_after_decoding(serve: Any) -> None:
    bomb = gzip.compress(b"\0" * 20_000_000)
    server = await serve(answer(bomb, b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"))
    async with session_with(ONE_ADDRESS) as session:
        got = await call(session, f"http://127.0.0.1:{server.port}/", max_body_bytes=100_000)
    assert got.body == bomb
    assert got.decoded(5_000) == b"\0" * 5_000


def test_decoding_knows_its_encodings() -> None:
    def encoded(encoding: str, body: bytes) -> Answer:
        return Answer(status=200, headers={"content-encoding": encoding}, body=body, is_cut=False)

    assert encoded("GZIP", gzip.compress(b"hello")).decoded(100) == b"hello"
    assert encoded("identity", b"hello").decoded(4) == b"hell"
    assert encoded("gzip", b"").decoded(100) == b""
    assert encoded("gzip", gzip.compress(b"hello")).decoded(5) == b"hello"
    whole = gzip.compress(b"hello" * 10)
    for wrong in (encoded("br", b"hello"), encoded("gzip", b"hello"), encoded("gzip", whole[:-9])):
        with pytest.raises(ConnectFailed):
            wrong.decoded(100)


async def test_slow_drip_is_ended_by_the_whole_deadline(serve: Any) -> None:
    async def drip(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    server = await serve(drip)
    async with session_with(ONE_ADDRESS) as session:
        with pytest.raises(DeadlinePassed):
            await call(session, f"http://127.0.0.1:{server.port}/", deadline_s=0.2)
        await asyncio.wait_for(server.left.wait(), 5)


async def test_slow_lookup_falls_under_the_deadline() -> None:
    async def never(_host: str, _port: int) -> list[IpAddress]:
        await asyncio.Event().wait()
        return []

    async with session_with(ONE_ADDRESS, never) as session:
        with pytest.raises(DeadlinePassed):
            await call(session, "http://hooks.example/", deadline_s=0.05)


@pytest.mark.parametrize(
    "reply", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", b"SSH-2.0-OpenSSH\r\n\r\n"]
)
async def test_broken_answer_is_a_failed_connection(serve: Any, reply: bytes) -> None:
    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(reply)
        writer.close()

    server = await serve(hang_up)
    async with session_with(ONE_ADDRESS) as session:
        with pytest.raises(ConnectFailed) as failed:
            await call(session, f"http://127.0.0.1:{server.port}/")
    assert "127" not in failed.value.message


async def test_closed_port_is_a_failed_connection() -> None:
    probe = socket.create_server(("127.0.0.1", 0))
    port = probe.getsockname()[1]
    probe.close()
    async with session_with(ONE_ADDRESS) as session:
        with pytest.raises(ConnectFailed):
            await call(session, f"http://127.0.0.1:{port}/")


async def test_allowed_host_may_lead_inside_by_its_name_alone(serve: Any, stub_lookup: Any) -> None:
    server = await serve(answer())
    policy = OutboundPolicy.of(hosts=["llm.inside"])
    async with session_with(policy, stub_lookup(["127.0.0.1"])) as session:
        assert (await call(session, f"http://llm.inside:{server.port}/")).status == 200
        with pytest.raises(AddressRefused):
            await call(session, f"http://other.inside:{server.port}/")


async def test_call_that_is_made_once_never_meets_a_connection_that_is_going(serve: Any) -> None:
    """The server closes each connection a moment after its answer, as idle ones are closed."""

    async def play(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        asyncio.get_running_loop().call_later(0.01, writer.close)

    server = await serve(play)
    async with guarded_session(ONE_ADDRESS, limit=4, keeps_alive=False) as session:
        for _ in range(20):
            assert (await call(session, f"http://127.0.0.1:{server.port}/")).body == b"ok"
            await asyncio.sleep(0.009)
    assert server.connections == 20


async def test_system_lookup_gives_every_address_once() -> None:
    lookup = SystemLookup(threads=1)
    try:
        assert await lookup("127.0.0.1", 80) == [ip_address("127.0.0.1")]
    finally:
        lookup.close()
