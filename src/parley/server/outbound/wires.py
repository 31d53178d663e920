"""The pool of wires: connections to llms, opened only where they may lead, kept for the next call."""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import Final, TypeAlias, cast

from aiohappyeyeballs import start_connection

from parley.server.outbound.address import is_public, read_ip
from parley.server.outbound.connector import GuardedResolver
from parley.server.outbound.errors import AddressRefused
from parley.server.outbound.guard import OutboundPolicy
from parley.server.outbound.lookup import Lookup
from parley.server.outbound.route import Route, Way, guarded_way, operators_way
from parley.server.outbound.wire import AnswerCut, Wire

IDLE_S: Final = 15.0
"""How long a connection is kept for the next call; servers commonly close theirs after more."""
SECOND_ADDRESS_S: Final = 0.25
"""After how long the next address of a name is tried beside the one before (RFC 8305)."""
CLOSE_S: Final = 1.0
"""Wait for connections to be gone, when the pool is closed."""

_AddressInfo: TypeAlias = tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int]]


class NoConnection(Exception):
    """There was none within the time for it."""


class Guard:
    """Where wires of customers may lead: the policy, asked about a text, a name's answers and a peer."""

    def __init__(self, policy: OutboundPolicy, lookup: Lookup) -> None:
        self._policy = policy
        self._resolver = GuardedResolver(policy, lookup)

    def way(self, url: str) -> Way:
        """The way to `url`. Raises `BadAddress` and `AddressRefused`."""
        return guarded_way(self._policy, url)

    async def addresses(self, route: Route) -> list[_AddressInfo]:
        """What of `route` may be dialled. Raises `AddressRefused`, or `OSError` for a passing failure."""
        try:
            literal = read_ip(route.host)
        except ValueError:
            found = await self._resolver.resolve(route.host, route.port)
            return [_address(one["family"], one["host"], one["port"]) for one in found]
        self._policy.check(route.host, (literal,))
        family = socket.AF_INET6 if literal.version == 6 else socket.AF_INET
        return [_address(family, str(literal), route.port)]

    def look_at(self, wire: Wire, route: Route) -> None:
        """See who is at the other end. Raises `AddressRefused`, `AnswerCut` where nobody is any more."""
        peer = wire.peer()
        if peer is None:
            raise AnswerCut
        ip = read_ip(peer)
        if not self._policy.permits(route.host, ip):
            raise AddressRefused
        wire.comes_from_inside = not is_public(ip)


class Wires:
    """Connections of this process, at most `limit` in use at once, and as many kept for later. With a
    guard they are customers'.

    A guarded wire was resolved and checked before it was dialled, and is looked at before each use.
    """

    def __init__(self, *, limit: int, tls: ssl.SSLContext, guard: Guard | None = None) -> None:
        self._guard = guard
        self._limit = limit
        self._tls = tls
        self._places = asyncio.Semaphore(limit)
        self._in_use: dict[Wire, Route] = {}
        self._idle: dict[Route, list[tuple[float, Wire]]] = {}
        self._idle_count = 0
        self._sweep: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._loop = asyncio.get_running_loop()

    def way(self, url: str) -> Way:
        """The way to `url`. Raises ValueError; a guarded pool `BadAddress` and `AddressRefused`."""
        return operators_way(url) if self._guard is None else self._guard.way(url)

    async def borrow(self, route: Route, timeout_s: float) -> Wire:
        """A wire to `route`, to be given back however the call ends.

        `timeout_s` bounds waiting for a place, lookup, dialling and TLS together. Raises `NoConnection`,
        `AddressRefused` and `OSError`.
        """
        if not self._places.locked():
            wire = self._kept(route)
            if wire is not None:
                await self._places.acquire()  # does not wait
                self._in_use[wire] = route
                return wire
        limit = asyncio.timeout(timeout_s)
        try:
            async with limit:
                await self._places.acquire()
                try:
                    wire = self._kept(route) or await self._dial(route)
                except BaseException:
                    self._places.release()
                    raise
        except TimeoutError:
            if limit.expired():
                raise NoConnection from None
            raise
        self._in_use[wire] = route
        return wire

    def give_back(self, wire: Wire) -> None:
        """The call is over. The wire is kept if both sides may use it again."""
        route = self._in_use.pop(wire)
        self._places.release()
        if self._is_closed or not wire.may_stay or self._idle_count >= self._limit:
            wire.close()
            return
        self._idle_count += 1
        self._idle.setdefault(route, []).append((self._loop.time(), wire))
        if self._sweep is None:
            self._sweep = self._loop.call_later(IDLE_S, self._drop_idle)

    async def close(self) -> None:
        """Close all connections, open calls included."""
        self._is_closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        wires = [*self._in_use, *(wire for kept in self._idle.values() for _, wire in kept)]
        self._idle.clear()
        self._idle_count = 0
        if wires:
            await asyncio.wait([self._loop.create_task(wire.closed()) for wire in wires], timeout=CLOSE_S)

    def _kept(self, route: Route) -> Wire | None:
        """The wire that was used last, unless it is too old or no longer open."""
        kept = self._idle.get(route)
        while kept:
            since, wire = kept.pop()
            self._idle_count -= 1
            if self._loop.time() - since < IDLE_S and wire.is_open:
                self._check(wire, route)
                return wire
            wire.close()
        return None

    async def _dial(self, route: Route) -> Wire:
        if self._is_closed:
            raise AnswerCut
        addresses = await self._addresses(route)
        sock = await start_connection(addresses, happy_eyeballs_delay=SECOND_ADDRESS_S)
        _, wire = await self._loop.create_connection(
            Wire,
            sock=sock,
            ssl=self._tls if route.is_tls else None,
            server_hostname=route.host if route.is_tls else None,
        )
        self._check(wire, route)
        return wire

    def _check(self, wire: Wire, route: Route) -> None:
        if self._guard is not None:
            try:
                self._guard.look_at(wire, route)
            except Exception:
                wire.close()
                raise

    async def _addresses(self, route: Route) -> list[_AddressInfo]:
        if self._guard is not None:
            return await self._guard.addresses(route)
        found = await self._loop.getaddrinfo(route.host, route.port, type=socket.SOCK_STREAM)
        return cast("list[_AddressInfo]", found)

    def _drop_idle(self) -> None:
        self._sweep = None
        oldest = self._loop.time() - IDLE_S
        for route, kept in list(self._idle.items()):
            still = [(since, wire) for since, wire in kept if since > oldest and wire.is_open]
            for since, wire in kept:
                if since <= oldest:
                    wire.close()
            if still:
                self._idle[route] = still
            else:
                del self._idle[route]
            self._idle_count -= len(kept) - len(still)
        if self._idle:
            self._sweep = self._loop.call_later(IDLE_S, self._drop_idle)


def _address(family: int, host: str, port: int) -> _AddressInfo:
    place = (host, port, 0, 0) if family == socket.AF_INET6 else (host, port)
    return family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", place
