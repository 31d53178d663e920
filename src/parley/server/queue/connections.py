"""Connections to Redis that say in Redis's own words that they broke."""

from __future__ import annotations

from collections.abc import Iterable

from redis.asyncio import Connection, ConnectionPool, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as RedisConnectionError


class _Told(AbstractConnection):
    async def send_packed_command(
        self, command: bytes | str | Iterable[bytes], check_health: bool = True
    ) -> None:
        try:
            await super().send_packed_command(command, check_health)
        except RuntimeError as error:
            # uvloop's word for writing to a transport that was closed meanwhile.
            raise RedisConnectionError(f"The connection closed while it was written to: {error}") from error


class _Tcp(_Told, Connection):
    pass


class _Ssl(_Told, SSLConnection):
    pass


class _Unix(_Told, UnixDomainSocketConnection):
    pass


_TOLD = {Connection: _Tcp, SSLConnection: _Ssl, UnixDomainSocketConnection: _Unix}


def redis_connections(url: str, *, timeout_s: float, connect_timeout_s: float) -> ConnectionPool:
    """Connections whose commands take at most `timeout_s`, and their making `connect_timeout_s`.

    Whatever breaks them is a `RedisError` or an `OSError`.
    """
    pool = ConnectionPool.from_url(url, socket_timeout=timeout_s, socket_connect_timeout=connect_timeout_s)
    pool.connection_class = _TOLD[pool.connection_class]
    return pool
