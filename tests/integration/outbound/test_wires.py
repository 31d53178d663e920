"""The pool of wires over real sockets of loopback: what is dialled, checked, kept and let go."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any

import pytest

from parley.server.outbound import wires as pool
from parley.server.outbound.errors import AddressRefused
from parley.server.outbound.guard import OutboundPolicy
from parley.server.outbound.lookup import Lookup
from parley.server.outbound.route import post_head
from parley.server.outbound.wires import Guard, NoConnection, Wires

ONE_ADDRESS = OutboundPolicy.of(networks=["127.0.0.1/32"])
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"


def answer(head: bytes = OK) -> Any:
    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(2)
        writer.write(head + b"\r\nok")
        await writer.drain()

    return play


@asynccontextmanager
async def guarded(lookup: Lookup, limit: int = 4) -> AsyncIterator[Wires]:
    made = Wires(limit=limit, tls=ssl.create_default_context(), guard=Guard(ONE_ADDRESS, lookup))
    yield made
    await made.close()


async def call(wires: Wires, url: str, timeout_s: float = 5.0) -> bytes:
    way = wires.way(url)
    wire = await wires.borrow(way.route, timeout_s)
    try:
        await wire.ask(post_head(way, {}) + b"2\r\n\r\n{}")
        return await wire.read()
    finally:
        wires.give_back(wire)


async def test_name_is_resolved_once_and_its_connection_used_again(serve: Any, stub_lookup: Any) -> None:
    """C102: dialled is what was checked, under its own name."""
    server, lookup = await serve(answer()), stub_lookup(["127.0.0.1"])
    async with guarded(lookup) as wires:
        for _ in range(3):
            assert await call(wires, f"http://Hooks.Example.:{server.port}/in?x=1") == b"ok"
    assert (server.connections, lookup.asked) == (1, ["hooks.example"])
    assert server.requests[2].startswith(b"POST /in?x=1 HTTP/1.1\r\n")
    assert f"Host: hooks.example:{server.port}\r\n".encode() in server.requests[2]


async def test_rebound_name_is_checked_again_at_each_new_connection(serve: Any, stub_lookup: Any) -> None:
    """C102, C126: public at first, inside later."""
    server = await serve(answer(OK + b"Connection: close\r\n"))
    async with guarded(stub_lookup(["127.0.0.1"], ["127.0.0.2"], ["127.0.0.1", "127.0.0.2"])) as wires:
        url = f"http://hooks.example:{server.port}/"
        assert await call(wires, url) == b"ok"
        for _ in range(2):
            with pytest.raises(AddressRefused):
                await call(wires, url)
    assert server.connections == 1


async def test_peer_is_looked_at_before_each_use(
    serve: Any, stub_lookup: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C102: even if something below dialled another address than the one that was checked."""
    server = await serve(answer())
    async with guarded(stub_lookup(["127.0.0.1"])) as wires:
        url = f"http://hooks.example:{server.port}/"
        assert await call(wires, url) == b"ok"
        monkeypatch.setattr("parley.server.outbound.wires.read_ip", lambda _text: ip_address("127.0.0.2"))
        with pytest.raises(AddressRefused):
            await call(wires, url)
        await asyncio.wait_for(server.left.wait(), 5)
    assert len(server.requests) == 1


async def test_literal_is_checked_without_the_front_door(serve: Any, stub_lookup: Any) -> None:
    server = await serve(answer())
    async with guarded(stub_lookup(["127.0.0.1"])) as wires:
        way = Wires(limit=1, tls=ssl.create_default_context()).way(f"http://127.0.0.2:{server.port}/")
        with pytest.raises(AddressRefused):
            await wires.borrow(way.route, 5.0)
    assert server.connections == 0


async def test_old_and_ended_connections_are_replaced(
    serve: Any, stub_lookup: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await serve(answer())
    async with guarded(stub_lookup(["127.0.0.1"])) as wires:
        url = f"http://hooks.example:{server.port}/"
        await call(wires, url)
        monkeypatch.setattr(pool, "IDLE_S", 0.0)
        assert await call(wires, url) == b"ok"
    assert server.connections == 2


async def test_no_more_connections_are_kept_than_may_be_in_use(serve: Any, stub_lookup: Any) -> None:
    """A customer with a name for every call would fill the process with open sockets."""
    server = await serve(answer())
    async with guarded(stub_lookup(["127.0.0.1"]), limit=2) as wires:
        for name in ("a", "b", "c", "a", "c"):
            await call(wires, f"http://{name}.example:{server.port}/")
    assert server.connections == 4, "c's was not kept, a's was used again and makes no room"


async def test_place_is_waited_for_and_given_on(serve: Any, stub_lookup: Any) -> None:
    server = await serve(answer())
    async with guarded(stub_lookup(["127.0.0.1"]), limit=1) as wires:
        url = f"http://hooks.example:{server.port}/"
        wire = await wires.borrow(wires.way(url).route, 5.0)
        with pytest.raises(NoConnection):
            await call(wires, url, timeout_s=0.02)
        waiting = asyncio.create_task(call(wires, url))
        await asyncio.sleep(0)
        wires.give_back(wire)
        assert await waiting == b"ok"
        assert await call(wires, url) == b"ok"


async def test_closed_pool_ends_open_calls(serve: Any, stub_lookup: Any) -> None:
    begun = asyncio.Event()

    async def never(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        begun.set()
        await asyncio.sleep(60)

    server = await serve(never)
    async with guarded(stub_lookup(["127.0.0.1"])) as wires:
        calling = asyncio.create_task(call(wires, f"http://hooks.example:{server.port}/"))
        await begun.wait()
        await wires.close()
        with pytest.raises(ConnectionError):
            await calling
