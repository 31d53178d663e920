"""`/livez` and `/readyz`, each bounded, neither wanting a key."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from redis.asyncio import Redis

from parley.server.config import Settings
from parley.server.db.dependencies import DatabaseDep
from parley.server.errors import DatabaseAway
from parley.server.kit.docs import answers_with
from parley.server.kit.provide import provided
from parley.server.kit.schemas import Answer, Reply
from parley.server.telemetry.readiness import QueueState, queue_state

router = APIRouter(tags=["health"])

_NO_KEY: dict[str, Any] = {"security": []}


class Liveness(Answer):
    """The process answers."""

    status: Literal["alive"] = "alive"


class Readiness(Answer):
    """What this process stands on."""

    database: Literal["ready"] = "ready"
    queue: QueueState


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
        queue_state(redis, settings.redis.prefix, timeout_s), database.check(timeout_s)
    )
    return Reply(data=Readiness(queue=queue))
