"""The queue only wakes workers: whatever happens to a job, its run goes on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest
from arq.connections import ArqRedis
from redis.asyncio import ConnectionPool
from redis.asyncio.client import Pipeline

from parley.server.config import Settings
from parley.server.db.session import Session
from parley.server.errors import DatabaseAway
from parley.server.llm.demo import Rule, opinion
from parley.server.queue.consumer import Consumer
from parley.server.queue.jobs import EXECUTE_RUN, PAYLOAD_VERSION, RunQueue, arq_redis
from tests.stage import Stage, until

PLAIN: dict[str, Any] = {"seed": 7, "max_turns": 2, "profile": "low"}
SUCCESS = Rule((opinion(0.95),), part="judge")


@pytest.fixture
async def redis(settings: Settings) -> AsyncIterator[ArqRedis]:
    """arq's client of the test's own prefix, as a process has it."""
    pool = ConnectionPool.from_url(settings.redis.url.get_secret_value(), socket_timeout=7)
    client = arq_redis(pool, settings.redis.prefix)
    yield client
    await client.aclose()


class Executed:
    """Notes what it is given, and may break."""

    def __init__(self) -> None:
        self.ids: list[UUID] = []
        self.fault: Exception | None = None

    async def __call__(self, run_id: UUID) -> None:
        self.ids.append(run_id)
        if self.fault:
            raise self.fault


async def test_announced_run_is_executed_once(redis: ArqRedis, settings: Settings) -> None:
    queue, executed, run_ids = RunQueue(redis, settings.redis.prefix), Executed(), [uuid4(), uuid4()]
    async with Consumer(redis, settings.redis.prefix, executed, max_jobs=5):
        await queue.announce(run_ids)
        await until(lambda: len(executed.ids) == 2)
        await asyncio.sleep(0.1)
    assert sorted(executed.ids) == sorted(run_ids)


async def test_run_announced_again_is_a_job_again(redis: ArqRedis, settings: Settings) -> None:
    """C156: a job id that was seen before would be dropped without a word."""
    queue, executed, run_id = RunQueue(redis, settings.redis.prefix), Executed(), uuid4()
    async with Consumer(redis, settings.redis.prefix, executed, max_jobs=5):
        for count in (1, 2, 3):
            await queue.announce([run_id])
            await until(lambda: len(executed.ids) == count)  # noqa: B023
    await queue.announce([run_id, run_id])
    assert await redis.zcard(f"{settings.redis.prefix}:queue") == 2


async def test_payload_is_a_run_and_a_version_in_json(redis: ArqRedis, settings: Settings) -> None:
    """C163"""
    run_id = uuid4()
    await RunQueue(redis, settings.redis.prefix).announce([run_id])
    [job_id] = await redis.zrange(f"{settings.redis.prefix}:queue", 0, -1)
    job = orjson.loads(await redis.get(f"arq:job:{job_id.decode()}"))
    assert (job["f"], job["a"], job["k"]) == (EXECUTE_RUN, [str(run_id), PAYLOAD_VERSION], {})


@pytest.mark.parametrize("payload", [("x", 1), (1,), (), (str(uuid4()), 99), (None, None)])
async def test_payload_of_another_time_harms_nobody(
    redis: ArqRedis, settings: Settings, payload: tuple[Any, ...]
) -> None:
    """C163"""
    executed, run_id = Executed(), uuid4()
    await redis.enqueue_job(EXECUTE_RUN, *payload)
    await redis.enqueue_job("a_function_of_yesterday", "x")
    async with Consumer(redis, settings.redis.prefix, executed, max_jobs=5):
        await RunQueue(redis, settings.redis.prefix).announce([run_id])
        await until(lambda: executed.ids)
    assert executed.ids == [run_id]


async def test_job_is_gone_from_the_queue_before_its_run_begins(redis: ArqRedis, settings: Settings) -> None:
    """C151: what a killed worker was at would stand before all new jobs for a day."""
    never = asyncio.Event()
    begun = asyncio.Event()

    async def execute(_: UUID) -> None:
        begun.set()
        await never.wait()

    run_id = uuid4()
    async with Consumer(redis, settings.redis.prefix, execute, max_jobs=5):
        await RunQueue(redis, settings.redis.prefix).announce([run_id])
        await asyncio.wait_for(begun.wait(), 5)
        assert await redis.zcard(f"{settings.redis.prefix}:queue") == 0
        assert await redis.keys(f"arq:*{run_id}*") == []
        never.set()


@pytest.mark.parametrize("fault", [DatabaseAway(), RuntimeError("broken")])
async def test_execution_that_breaks_leaves_the_queue_working(
    redis: ArqRedis, settings: Settings, fault: Exception
) -> None:
    queue, executed = RunQueue(redis, settings.redis.prefix), Executed()
    executed.fault = fault
    async with Consumer(redis, settings.redis.prefix, executed, max_jobs=1):
        await queue.announce([uuid4()])
        await until(lambda: len(executed.ids) == 1)
        executed.fault = None
        await queue.announce([uuid4()])
        await until(lambda: len(executed.ids) == 2)


async def test_consumer_that_stops_taking_leaves_jobs_to_others(redis: ArqRedis, settings: Settings) -> None:
    queue, executed, run_id = RunQueue(redis, settings.redis.prefix), Executed(), uuid4()
    async with Consumer(redis, settings.redis.prefix, executed, max_jobs=5) as consumer:
        await asyncio.sleep(0.05)
        consumer.stop_taking()
        await queue.announce([run_id])
        await asyncio.sleep(0.1)
        assert executed.ids == []
    async with Consumer(redis, settings.redis.prefix, executed, max_jobs=5):
        await until(lambda: executed.ids == [run_id])


async def test_unknown_run_is_left_alone(stage: Stage) -> None:
    """C168: a job without a row, as after a rollback elsewhere."""
    async with stage.worker() as worker:
        assert await worker.executor.execute(uuid4()) is False
        await stage.services.queue.announce([uuid4()])
        stage.play(SUCCESS)
        run = await stage.finished(await stage.start(await stage.make_test(**PLAIN)))
    assert run["state"] == "succeeded"


async def test_start_that_is_rolled_back_leaves_no_job(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """C168: jobs are queued after the commit, and only then."""
    test_id = await stage.make_test(**PLAIN)
    announced: list[Any] = []

    async def note(*given: Any) -> None:
        announced.append(given)

    async def fails(_: Session) -> None:
        assert announced == [], "not before the commit"
        raise RuntimeError("the commit fails")

    monkeypatch.setattr(RunQueue, "announce", note)
    with monkeypatch.context() as patched:
        patched.setattr(Session, "commit", fails)
        answer = await stage.http.post(f"/api/v1/agentic-tests/{test_id}/runs")
        assert answer.status_code == 500
    assert announced == []
    assert await stage.rows("SELECT id FROM runs") == []
    await stage.start(test_id)
    assert len(announced) == 1


async def test_job_that_is_lost_or_used_up_is_made_up_by_the_sweep(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """C155: the queue gives a job up after its tries without running it; the run does not stay pending."""
    monkeypatch.setattr("parley.server.runs.sweep.QUEUE_PATIENCE_S", 0.3)
    caplog.set_level(logging.WARNING, "arq")
    write = RunQueue._write

    def already_tried(queue: RunQueue, pipeline: Pipeline, run_id: UUID) -> None:
        write(queue, pipeline, run_id)
        *_, job_key = (words[1] for words, _ in pipeline.command_stack if words[0] == "PSETEX")
        pipeline.set(str(job_key).replace("arq:job:", "arq:retry:"), 1)

    monkeypatch.setattr(RunQueue, "_write", already_tried)
    stage.play(SUCCESS)
    async with stage.worker():
        run = await stage.finished(await stage.start(await stage.make_test(**PLAIN)))
    assert run["state"] == "succeeded"
    assert "max retries" in caplog.text


async def test_job_for_a_run_that_has_ended_changes_nothing(stage: Stage) -> None:
    stage.play(SUCCESS)
    async with stage.worker() as worker:
        path = await stage.start(await stage.make_test(**PLAIN))
        before = await stage.finished(path)
        requests = stage.llms.stats.requests
        assert await worker.executor.execute(UUID(path[-36:])) is False
    assert await stage.read(path) == before
    assert stage.llms.stats.requests == requests


async def test_two_jobs_for_one_run_make_one_conversation(stage: Stage) -> None:
    stage.llms.configure(gap_ms=3)
    async with stage.worker() as one, stage.worker() as other:
        path = await stage.start(await stage.make_test(**PLAIN))
        run_id = UUID(path[-36:])
        await stage.services.queue.announce([run_id] * 4)
        held = await asyncio.gather(*(w.executor.execute(run_id) for w in (one, other) for _ in range(3)))
        run = await stage.finished(path)
    assert sum(held) <= 1
    assert (run["state"], run["attempts"]) == ("succeeded", [])
    assert stage.llms.stats.requests == 6
