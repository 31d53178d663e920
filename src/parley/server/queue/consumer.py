"""Takes jobs off the queue: arq's worker, woken by a poke, and started again when Redis was away."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import orjson
from arq.connections import ArqRedis
from arq.constants import in_progress_key_prefix, job_key_prefix, retry_key_prefix
from arq.worker import Worker, func
from redis.exceptions import RedisError

from parley.server.errors import DatabaseAway
from parley.server.kit.tasks import end_tasks
from parley.server.queue.jobs import EXECUTE_RUN, PAYLOAD_VERSION, poke_key, queue_name, write_job

IDLE_POLL_S = 5
"""Look at the queue without a poke; a poke that was lost costs no more than this."""
JOB_TIMEOUT_S = 86_400
"""arq's own bound on a job. Runs have theirs; this one must never be the first."""
PICKED_S = 30
"""How long a job that was picked is left to its worker. It is put away at once, unless that one dies."""
RESTART_S = 1.0
SETTLE_S = 1.0
"""Time for jobs that are over to be put away, when the process stops."""

_log = logging.getLogger(__name__)

Execute = Callable[[UUID], Awaitable[object]]


class _PokedWorker(Worker):
    """arq's worker, waiting on a list instead of sleeping between looks at the queue."""

    poke_key = ""

    async def main(self) -> None:
        while True:
            await self._poll_iteration()
            poke: Any = self.pool.blpop([self.poke_key], timeout=IDLE_POLL_S)
            await poke

    async def finish_job(self, *job: Any, **how: Any) -> None:
        """Put a job away. It was out of the queue before it began, so with Redis away nothing is owed.

        arq shields this from the end of the job's own task: nobody else would hear what it raises.
        """
        try:
            await super().finish_job(*job, **how)
        except (RedisError, OSError) as error:
            _log.warning("a job could not be put away: %s", type(error).__name__)


class Consumer:
    """Executes announced runs until it is closed, at most `max_jobs` at once."""

    def __init__(self, redis: ArqRedis, prefix: str, execute: Execute, max_jobs: int) -> None:
        self._redis = redis
        self._prefix = prefix
        self._execute = execute
        self._max_jobs = max_jobs
        self._worker: Worker | None = None
        self._task: asyncio.Task[None] | None = None
        self._jobs: set[asyncio.Task[Any]] = set()
        self._takes_jobs = True

    async def __aenter__(self) -> Consumer:
        self._task = asyncio.create_task(self._consume(), name="queue-consumer")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task:
            await end_tasks(self._task)
        if self._jobs:
            await asyncio.wait(self._jobs, timeout=SETTLE_S)
        await end_tasks(*self._jobs)

    @property
    def task(self) -> asyncio.Task[None]:
        """What takes jobs for as long as the consumer is entered."""
        assert self._task is not None
        return self._task

    def stop_taking(self) -> None:
        """Take no more jobs; those under way go on."""
        self._takes_jobs = False
        if self._worker:
            self._worker.allow_pick_jobs = False

    async def _consume(self) -> None:
        """Run arq's worker; a break of Redis ends it, and only it: open runs go on meanwhile."""
        while True:
            self._worker = self._new_worker()
            try:
                await self._worker.main()
            except (RedisError, OSError) as error:
                _log.warning("queue away: %s", type(error).__name__)
            finally:
                self._adopt(self._worker)
            await asyncio.sleep(RESTART_S)

    def _adopt(self, worker: Worker) -> None:
        """Own the jobs of a worker whose loop has ended."""
        for task in worker.tasks.values():
            self._jobs.add(task)
            task.add_done_callback(self._jobs.discard)
            task.add_done_callback(_forgive)

    def _new_worker(self) -> Worker:
        execute: Any = self._execute_run
        worker = _PokedWorker(
            functions=[func(execute, name=EXECUTE_RUN, keep_result=0, max_tries=1)],
            queue_name=queue_name(self._prefix),
            redis_pool=self._redis,
            handle_signals=False,
            max_jobs=self._max_jobs,
            job_timeout=JOB_TIMEOUT_S,
            keep_result=0,
            max_tries=1,
            health_check_interval=IDLE_POLL_S * 2,
            job_serializer=write_job,
            job_deserializer=orjson.loads,
            log_results=False,
        )
        worker.in_progress_timeout_s = PICKED_S
        worker.poke_key = poke_key(self._prefix)
        worker.allow_pick_jobs = self._takes_jobs
        return worker

    async def _execute_run(self, context: dict[Any, Any], run_id: str, version: int) -> None:
        await self._put_away(context["job_id"])
        if version != PAYLOAD_VERSION:
            _log.error("job with payload version %s left to the sweep, run %s", version, run_id)
            return
        try:
            await self._execute(UUID(run_id))
        except DatabaseAway:
            _log.warning("run %s waits for the sweep: the database is away", run_id)

    async def _put_away(self, job_id: str) -> None:
        """Take the job out of the queue before the run begins: from here on the lease tells who has it.

        A job that stayed until its run ends would stay for a day when its worker dies, and some dozens
        of those stand before every new one.
        """
        try:
            async with self._redis.pipeline(transaction=True) as pipeline:
                pipeline.zrem(queue_name(self._prefix), job_id)
                pipeline.delete(
                    job_key_prefix + job_id, retry_key_prefix + job_id, in_progress_key_prefix + job_id
                )
                await pipeline.execute()
        except (RedisError, OSError) as error:
            _log.warning("queue away, a job comes again: %s", type(error).__name__)


def _forgive(task: asyncio.Task[Any]) -> None:
    """arq could not put away a finished job, since Redis was away; the run itself is safe."""
    if not task.cancelled() and task.exception():
        _log.warning("a job could not be put away: %s", type(task.exception()).__name__)
