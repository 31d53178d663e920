"""Names and payloads of jobs: a run id and a version, nothing else."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID, uuid4

import orjson
from arq.connections import ArqRedis
from redis.asyncio import ConnectionPool
from redis.exceptions import RedisError

EXECUTE_RUN: Final = "execute_run"
PAYLOAD_VERSION: Final = 1
POKE_EXPIRE_S: Final = 60

_log = logging.getLogger(__name__)


def queue_name(prefix: str) -> str:
    """The key of arq's queue."""
    return f"{prefix}:queue"


def poke_key(prefix: str) -> str:
    """The key of the list that workers wait on; one element wakes one of them."""
    return f"{prefix}:queue:poke"


def write_job(job: Any) -> bytes:
    """A job, or what arq notes about its end, as JSON; exceptions become their words."""
    return orjson.dumps(job, default=repr)


def arq_redis(pool: ConnectionPool, prefix: str) -> ArqRedis:
    """arq's client, speaking JSON; it owns `pool` and closes it."""
    redis = ArqRedis(
        pool,
        job_serializer=write_job,
        job_deserializer=orjson.loads,
        default_queue_name=queue_name(prefix),
    )
    redis.auto_close_connection_pool = True
    return redis


class RunQueue:
    """Tells workers that a run waits. Call it after the commit that admitted the run."""

    def __init__(self, redis: ArqRedis, prefix: str) -> None:
        self._redis = redis
        self._poke_key = poke_key(prefix)

    async def announce(self, run_ids: Sequence[UUID]) -> None:
        """Wake a worker for each run. With Redis away the sweep of the workers finds them instead."""
        for run_id in run_ids:
            try:
                # A fresh job id each time: arq drops a job whose id has been seen, without a word.
                await self._redis.enqueue_job(
                    EXECUTE_RUN, str(run_id), PAYLOAD_VERSION, _job_id=f"{run_id}:{uuid4().hex[:8]}"
                )
                async with self._redis.pipeline(transaction=False) as pipeline:
                    pipeline.lpush(self._poke_key, b"1")
                    pipeline.ltrim(self._poke_key, 0, 999)
                    pipeline.expire(self._poke_key, POKE_EXPIRE_S)
                    await pipeline.execute()
            except (RedisError, OSError) as error:
                _log.warning("queue away, the sweep will find the run: %s", type(error).__name__)
                return
