"""`/livez` and `/readyz`, each bounded, neither wanting a key."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from redis.asyncio import Redis
from redis.exceptions import RedisError

from parley.server.config import Settings
from parley.server.db.dependencies import DatabaseDep
from parley.server.errors import DatabaseAway
from parley.server.kit.docs import answers_with
from parley.server.kit.provide import provided
from parley.server.kit.schemas import Answer, Reply

router = APIRouter(tags=["health"])

_NO_KEY: dict[str, Any] = {"security": []}


class Liveness(Answer):
    """The process answers."""

    status: Literal["alive"] = "alive"


class Readiness(Answer):
    """What this process stands on."""

    database: Literal["ready"] = "ready"
    queue: Literal["ready", "degraded"]


@router.get("/livez", summary="Is the process alive?", openapi_extra=_NO_KEY)
async def livez() -> Reply[Liveness]:
    """Touches nothing outside the process."""
    return Reply(data=Liveness())


@router.get(
    "/readyz",
    summary="Can it serve?",
    responses=answers_with(DatabaseAway),
    openapi_extra=_NO_KEY,
)
async def readyz(
    database: DatabaseDep,
    redis: Annotated[Redis, provided(Redis)],
    settings: Annotated[Settings, provided(Settings)],
) -> Reply[Readiness]:
    """503 without the database. Without Redis it stays ready: starts are accepted and wait."""
    timeout_s = settings.api.ready_timeout_s
    queue, _ = await asyncio.gather(
        _queue_state(redis, settings.redis.prefix, timeout_s), database.check(timeout_s)
    )
    return Reply(data=Readiness(queue=queue))


async def _queue_state(redis: Redis, prefix: str, timeout_s: float) -> Literal["ready", "degraded"]:
    key, value = f"{prefix}:ready:{os.getpid()}", os.urandom(8).hex()
    try:
        async with asyncio.timeout(timeout_s):
            await redis.set(key, value, ex=30)
            found = await redis.get(key)
    except (RedisError, OSError, TimeoutError):
        return "degraded"
    return "ready" if found in (value, value.encode()) else "degraded"
