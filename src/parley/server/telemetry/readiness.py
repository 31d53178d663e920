"""Whether what a process stands on takes writes and gives them back."""

from __future__ import annotations

import asyncio
import os
from typing import Literal, TypeAlias

from redis.asyncio import Redis
from redis.exceptions import RedisError

QueueState: TypeAlias = Literal["ready", "degraded"]


async def queue_state(redis: Redis, prefix: str, timeout_s: float) -> QueueState:
    """Write a value and read it back within `timeout_s`. A read-only or full Redis is degraded too."""
    key, value = f"{prefix}:ready:{os.getpid()}", os.urandom(8).hex()
    try:
        async with asyncio.timeout(timeout_s):
            await redis.set(key, value, ex=30)
            found = await redis.get(key)
    except (RedisError, OSError, TimeoutError):
        return "degraded"
    return "ready" if found in (value, value.encode()) else "degraded"
