"""Pokes: a list in Redis that says there is something to do. It is a hint; ticks find what it lost."""

from __future__ import annotations

import logging
from typing import Any, Final

from redis.asyncio import Redis
from redis.exceptions import RedisError

MOST_POKES: Final = 1_000
EXPIRE_S: Final = 60

_log = logging.getLogger(__name__)


class Poke:
    """One such list. Its client must allow commands that take as long as `wait` does."""

    def __init__(self, redis: Redis, prefix: str, name: str) -> None:
        self._redis = redis
        self._key = f"{prefix}:poke:{name}"
        self._name = name

    async def give(self) -> None:
        """Wake one of those who wait. With Redis away nobody is woken, and that is all."""
        try:
            async with self._redis.pipeline(transaction=False) as pipeline:
                pipeline.lpush(self._key, b"1")
                pipeline.ltrim(self._key, 0, MOST_POKES - 1)
                pipeline.expire(self._key, EXPIRE_S)
                await pipeline.execute()
        except (RedisError, OSError) as error:
            _log.warning("poke for %s lost: %s", self._name, type(error).__name__)

    async def wait(self, timeout_s: float) -> bool:
        """Whether a poke came within `timeout_s`. Raises what the client does while Redis is away."""
        # Redis takes fractions of seconds; the client's types do not know.
        taken: Any = self._redis.blpop([self._key], timeout=timeout_s)  # type: ignore[arg-type]
        return await taken is not None
