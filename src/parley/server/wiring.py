"""Builds everything a process needs from its settings, once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from typing import Any

from redis.asyncio import Redis

from parley.server.accounts.authenticator import Authenticator
from parley.server.accounts.last_used import LastUsed
from parley.server.accounts.pace import Pace
from parley.server.config import Settings
from parley.server.db.database import Database, PoolOptions
from parley.server.kit.clock import SystemClock
from parley.server.kit.crypto import Keyring
from parley.server.outbound.guard import OutboundPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What a process was built from. Endpoints get a field by its type: `provided(Keyring)`."""

    settings: Settings
    clock: SystemClock
    database: Database
    redis: Redis
    keyring: Keyring
    outbound_policy: OutboundPolicy
    authenticator: Authenticator
    last_used: LastUsed
    pace: Pace

    @property
    def background(self) -> tuple[Callable[[], Coroutine[Any, Any, None]], ...]:
        """What the API runs beside its requests, each until it is cancelled."""
        return (self.last_used.run,)

    def by_type(self) -> dict[type[Any], Any]:
        """The fields by their types."""
        return {type(value): value for value in (getattr(self, field.name) for field in fields(self))}


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncIterator[Services]:
    """Build the services, and close what they opened. Nothing connects before it is first used.

    Raises ValueError if a setting does not fit: no secret key, a malformed address or network.
    """
    clock = SystemClock()
    database = Database(settings.database.url.get_secret_value(), _pool_options(settings))
    redis = Redis.from_url(
        settings.redis.url.get_secret_value(),
        socket_timeout=settings.redis.timeout_s,
        socket_connect_timeout=settings.redis.timeout_s,
    )
    try:
        yield Services(
            settings=settings,
            clock=clock,
            database=database,
            redis=redis,
            keyring=Keyring(settings.secret.revealed()),
            outbound_policy=OutboundPolicy.of(settings.outbound.allowed_networks),
            authenticator=Authenticator(database, clock, settings.api.key_cache_s),
            last_used=LastUsed(database, clock),
            pace=Pace(settings.api.requests_per_minute, clock),
        )
    finally:
        await redis.aclose()
        await database.close()


def _pool_options(settings: Settings) -> PoolOptions:
    database = settings.database
    return PoolOptions(
        size=database.pool_size,
        overflow=database.pool_overflow,
        timeout_s=database.pool_timeout_s,
        connect_timeout_s=database.connect_timeout_s,
        statement_timeout_s=database.statement_timeout_s,
        pooler_mode=database.pooler_mode,
    )
