"""Connections to customers' addresses: nothing that uses this session gets around the policy."""

from __future__ import annotations

import socket
import ssl
from ipaddress import IPv6Address
from typing import TYPE_CHECKING, Final

from aiohttp import (
    ClientConnectionResetError,
    ClientRequest,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    TCPConnector,
)
from aiohttp.abc import AbstractResolver, ResolveResult

from parley.server.outbound.address import IpAddress, read_ip
from parley.server.outbound.errors import AddressRefused
from parley.server.outbound.guard import OutboundPolicy
from parley.server.outbound.lookup import Lookup, SystemLookup

if TYPE_CHECKING:
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

_UNKNOWN_FOR_GOOD: Final = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})


class GuardedResolver(AbstractResolver):
    """Resolves a name once for each new connection and checks every answer.

    The connector dials exactly the addresses returned here; the name stays for `Host` and for TLS.
    A name that does not exist is refused like one that leads inside.
    """

    def __init__(self, policy: OutboundPolicy, lookup: Lookup) -> None:
        self._policy = policy
        self._lookup = lookup

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The checked addresses of `host`. Raises `AddressRefused`, or `OSError` for a passing failure."""
        try:
            answers = await self._lookup(host, port)
        except socket.gaierror as error:
            if error.errno in _UNKNOWN_FOR_GOOD:
                raise AddressRefused from None
            raise
        self._policy.check(host, answers)
        return [_result(host, ip, port) for ip in answers if family in (socket.AF_UNSPEC, _family(ip))]

    async def close(self) -> None:
        """Nothing to release."""


class GuardedConnector(TCPConnector):
    """A pool of connections that were checked before dialling and are checked again before each use."""

    def __init__(
        self,
        policy: OutboundPolicy,
        lookup: Lookup,
        *,
        limit: int,
        tls: ssl.SSLContext | None = None,
        keeps_alive: bool = True,
    ) -> None:
        super().__init__(
            resolver=GuardedResolver(policy, lookup),
            use_dns_cache=False,
            limit=limit,
            force_close=not keeps_alive,
            ssl=True if tls is None else tls,
        )
        self._policy = policy

    async def connect(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: ClientTimeout,  # noqa: ASYNC109 - the signature is aiohttp's
    ) -> Connection:
        """Give a connection whose peer is permitted. Raises `BadAddress` or `AddressRefused`.

        aiohttp does not ask the resolver about literal addresses, so they are checked here first.
        """
        target = self._policy.read(str(req.url))
        connection = await super().connect(req, traces, timeout)
        peer = peer_of(connection)
        if peer is not None and self._policy.permits(target.host, peer):
            return connection
        connection.close()
        if peer is None:
            raise ClientConnectionResetError("The peer hung up before it could be checked.")
        raise AddressRefused


def guarded_session(
    policy: OutboundPolicy,
    *,
    limit: int,
    lookup: Lookup | None = None,
    tls: ssl.SSLContext | None = None,
    keeps_alive: bool = True,
) -> ClientSession:
    """A session for customers' addresses with at most `limit` connections; close it when done.

    Without `keeps_alive` every call has a connection of its own: a call that is made once and never
    again must not fail because the other side has just closed an idle connection.
    No environment proxies, no netrc, no cookies, no decompression, no deadline of its own. Callers
    pass `allow_redirects=False`; a hop that was followed by mistake would still be guarded.
    """
    connector = GuardedConnector(
        policy, lookup or SystemLookup(), limit=limit, tls=tls, keeps_alive=keeps_alive
    )
    return ClientSession(
        connector=connector,
        cookie_jar=DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
        timeout=ClientTimeout(total=None),
    )


def peer_of(connection: Connection) -> IpAddress | None:
    """The address at the other end, None when the connection is already gone."""
    transport = connection.transport
    try:
        peer = None if transport is None else transport.get_extra_info("peername")
    except OSError:  # uvloop asks the socket itself
        return None
    return None if peer is None else read_ip(str(peer[0]))


def _family(ip: IpAddress) -> socket.AddressFamily:
    return socket.AF_INET6 if isinstance(ip, IPv6Address) else socket.AF_INET


def _result(host: str, ip: IpAddress, port: int) -> ResolveResult:
    return ResolveResult(
        hostname=host,
        host=str(ip),
        port=port,
        family=_family(ip),
        proto=0,
        flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    )
