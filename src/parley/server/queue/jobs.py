"""Names and payloads of jobs: a run id and a version, nothing else."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID, uuid4

import orjson
from arq.connections import ArqRedis
from arq.constants import job_key_prefix
from arq.jobs import serialize_job
from arq.utils import timestamp_ms
from redis.asyncio import ConnectionPool
from redis.asyncio.client import Pipeline
from redis.exceptions import RedisError

EXECUTE_RUN: Final = "execute_run"
PAYLOAD_VERSION: Final = 1
POKE_EXPIRE_S: Final = 60
JOB_KEPT_MS: Final = 86_400_000
"""How long the payload of a job that no worker takes is kept; its run does not need it."""

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
        self._queue_name = queue_name(prefix)
        self._poke_key = poke_key(prefix)

    async def announce(self, run_ids: Sequence[UUID]) -> None:
        """Wake a worker for each run. With Redis away the sweep of the workers finds them instead.

        Written as arq writes its jobs, but without its WATCH: ours are fresh ids, and a pipeline that watches
        does not give its connection back where Redis falls silent in the middle of it.
        """
        if not run_ids:
            return
        try:
            async with self._redis.pipeline(transaction=True) as pipeline:
                for run_id in run_ids:
                    self._write(pipeline, run_id)
                pipeline.ltrim(self._poke_key, 0, 999)
                pipeline.expire(self._poke_key, POKE_EXPIRE_S)
                await pipeline.execute()
        except (RedisError, OSError) as error:
            _log.warning("queue away, the sweep will find the run: %s", type(error).__name__)

    def _write(self, pipeline: Pipeline, run_id: UUID) -> None:
        # A fresh job id each time: what is announced again is a job of its own.
        job_id, now_ms = f"{run_id}:{uuid4().hex[:8]}", timestamp_ms()
        payload = (str(run_id), PAYLOAD_VERSION)
        job = serialize_job(EXECUTE_RUN, payload, {}, None, now_ms, serializer=write_job)
        pipeline.psetex(job_key_prefix + job_id, JOB_KEPT_MS, job)
        pipeline.zadd(self._queue_name, {job_id: now_ms})
        pipeline.lpush(self._poke_key, b"1")
