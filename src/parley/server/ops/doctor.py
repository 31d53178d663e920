"""Looks at everything an installation stands on, and says what to do about each fault."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import asyncpg
from aiohttp import ClientError, ClientSession, ClientTimeout
from redis.asyncio import Redis
from redis.exceptions import RedisError

from parley.server.config import Settings
from parley.server.db.database import plain_url
from parley.server.db.migrate import current, head
from parley.server.errors import DatabaseAway
from parley.server.kit.crypto import Keyring
from parley.server.llm.check import check_target
from parley.server.llm.endpoint import LlmEndpoint
from parley.server.llm.pool import LlmPool, PoolLimits
from parley.server.llm.profiles import PROFILE_NAMES, SEATS
from parley.server.ops.local.binaries import OLDEST_POSTGRES
from parley.server.outbound.guard import OutboundPolicy
from parley.server.telemetry.tracing import TRACES_PATH

_PATIENCE_S = 5.0

State: TypeAlias = Literal["good", "warning", "bad"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was looked at, how it stands, and, unless it is good, what to do."""

    about: str
    state: State
    text: str


async def examine(settings: Settings) -> AsyncIterator[Finding]:
    """Every finding, in an order in which to mend them."""
    checks: tuple[Callable[[Settings], Coroutine[Any, Any, list[Finding]]], ...] = (
        _secrets,
        _database,
        _queue,
        _llms,
        _outbound,
        _traces,
    )
    for check in checks:
        for finding in await check(settings):
            yield finding


async def _secrets(settings: Settings) -> list[Finding]:
    try:
        Keyring(settings.secret.revealed())
    except ValueError as error:
        advice = "set PARLEY_SECRET_KEYS, for example to the output of `openssl rand -hex 32`"
        return [Finding(about="secrets", state="bad", text=f"{str(error).rstrip('.')}; {advice}.")]
    return [Finding(about="secrets", state="good", text="set; keep them, without them gateway keys are lost")]


async def _database(settings: Settings) -> list[Finding]:
    url = plain_url(settings.database.url.get_secret_value())
    try:
        connection = await asyncpg.connect(url, timeout=_PATIENCE_S)
    except asyncpg.InvalidCatalogNameError as error:
        return [Finding(about="database", state="bad", text=f"{error}; create it with `createdb`.")]
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        reason = str(error) or "no answer"
        return [
            Finding(about="database", state="bad", text=f"{reason.rstrip('.')}; check PARLEY_DATABASE_URL.")
        ]
    try:
        version: str = await connection.fetchval("SHOW server_version")
    finally:
        await connection.close()
    if int(version.split(".")[0]) < OLDEST_POSTGRES:
        advice = f"PostgreSQL {version} is too old; use {OLDEST_POSTGRES} or newer."
        return [Finding(about="database", state="bad", text=advice)]
    return [
        Finding(about="database", state="good", text=f"PostgreSQL {version} answers"),
        await _migrations(url),
    ]


async def _migrations(url: str) -> Finding:
    newest = head()
    try:
        found = await current(url)
    except DatabaseAway as error:
        return Finding(about="migrations", state="bad", text=str(error))
    if found == newest:
        return Finding(about="migrations", state="good", text=f"at the newest revision, {found}")
    where = f"at {found}" if found else "not begun"
    return Finding(
        about="migrations", state="bad", text=f"{where}, newest is {newest}; run `parley migrate`."
    )


async def _queue(settings: Settings) -> list[Finding]:
    redis = Redis.from_url(settings.redis.url.get_secret_value(), socket_connect_timeout=_PATIENCE_S)
    key = f"{settings.redis.prefix}:doctor:{os.getpid()}"
    try:
        async with asyncio.timeout(_PATIENCE_S):
            await redis.set(key, "1", ex=30)
            await redis.delete(key)
            version = (await redis.info("server"))["redis_version"]
    except (RedisError, OSError, TimeoutError, ValueError) as error:
        reason = str(error) or "no answer"
        return [Finding(about="queue", state="bad", text=f"{reason.rstrip('.')}; check PARLEY_REDIS_URL.")]
    finally:
        await redis.aclose()
    return [Finding(about="queue", state="good", text=f"writable, speaks Redis {version}")]


async def _llms(settings: Settings) -> list[Finding]:
    if not settings.llm.base_url:
        advice = "no address of an llm provider; set PARLEY_LLM_BASE_URL, or use `parley dev`."
        return [Finding(about="llms", state="bad", text=advice)]
    seats: dict[str, list[str]] = {}
    for profile in PROFILE_NAMES:
        for seat in SEATS:
            seats.setdefault(settings.profile.named(profile, seat), []).append(f"{profile} {seat}")
    pool = LlmPool(PoolLimits(), OutboundPolicy())
    try:
        return list(
            await asyncio.gather(*(_llm(pool, settings, name, taken) for name, taken in seats.items()))
        )
    finally:
        await pool.close()


def nobody_plays(seats: Sequence[str]) -> str:
    """What to do about seats (`low user`, ...) that no setting gives to an llm of the provider."""
    return f"nobody plays {', '.join(seats)}; set PARLEY_PROFILE_LOW_USER and PARLEY_PROFILE_LOW_JUDGE."


async def _llm(pool: LlmPool, settings: Settings, name: str, seats: list[str]) -> Finding:
    about = f"llm {name}" if name else "llm"
    if not name:
        return Finding(about=about, state="bad", text=nobody_plays(seats))
    key = settings.llm.api_key.get_secret_value() or None
    endpoint = LlmEndpoint(base_url=settings.llm.base_url, api_key=key, model=name)
    report = await check_target(pool.operator_speaker(endpoint))
    if not report.ok:
        return Finding(about=about, state="bad", text=f"{report.fault} It plays {', '.join(seats)}.")
    if not report.reports_usage:
        return Finding(about=about, state="warning", text="answers without usage, so costs are estimates.")
    return Finding(about=about, state="good", text=f"answers in {report.latency_ms} ms")


async def _traces(settings: Settings) -> list[Finding]:
    """Whether the collector takes an export of nothing; silent where nothing is traced."""
    telemetry = settings.telemetry
    if not telemetry.otlp_url:
        return []
    url = f"{telemetry.otlp_url.rstrip('/')}{TRACES_PATH}"
    headers = {"Content-Type": "application/x-protobuf", **telemetry.header_pairs()}
    try:
        async with (
            ClientSession(timeout=ClientTimeout(total=_PATIENCE_S)) as session,
            session.post(url, data=b"", headers=headers, allow_redirects=False) as answer,
        ):
            problem = "" if answer.ok else f"the collector answers {answer.status}"
    except (ClientError, OSError, ValueError) as error:
        problem = str(error) or "no answer"
    if problem:
        advice = f"{problem.rstrip('.')}; check PARLEY_TELEMETRY_OTLP_URL and PARLEY_TELEMETRY_OTLP_HEADERS."
        return [Finding(about="traces", state="bad", text=advice)]
    words = "with what was said" if telemetry.content else "without what was said"
    return [Finding(about="traces", state="good", text=f"the collector takes them, {words}")]


async def _outbound(settings: Settings) -> list[Finding]:
    outbound = settings.outbound
    try:
        OutboundPolicy.of(outbound.allowed_networks, outbound.allowed_hosts)
    except ValueError as error:
        text = f"PARLEY_OUTBOUND_ALLOWED_NETWORKS: {str(error).rstrip('.')}."
        return [Finding(about="outbound", state="bad", text=text)]
    if not outbound.allowed_networks and not outbound.allowed_hosts:
        return [Finding(about="outbound", state="good", text="public addresses only")]
    inside = ", ".join((*outbound.allowed_networks, *outbound.allowed_hosts))
    advice = (
        f"customers' gateways, hooks and resources may also reach {inside}; right for a machine of your own, "
        "else unset PARLEY_OUTBOUND_ALLOWED_NETWORKS and PARLEY_OUTBOUND_ALLOWED_HOSTS."
    )
    return [Finding(about="outbound", state="warning", text=advice)]
