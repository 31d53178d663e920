"""Redis away: only slower. Postgres away: refused or waited for, nothing half-made."""

from __future__ import annotations

import asyncio
import dataclasses
import socket
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

import pytest
from pydantic import SecretStr
from redis.exceptions import ReadOnlyError

from parley.server.config import DatabaseSettings, RedisSettings, Settings
from parley.server.errors import DatabaseAway
from parley.server.journal.bus import Publisher
from parley.server.journal.keep import Journal
from parley.server.llm.demo import Hang, Rule, Say, opinion
from parley.server.runs import finish as runs_finish
from tests.event_order import assert_in_order
from tests.integration.db.cable import Cable
from tests.stage import DIRECT, GOAL, Stage, frames_of, told, until

PLAIN: dict[str, Any] = {"seed": 7, "max_turns": 3, "profile": "low"}


@pytest.fixture(autouse=True)
def quick_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parley.server.runs.sweep.QUEUE_PATIENCE_S", 0.2)
    monkeypatch.setattr("parley.server.runs.watch.POLL_S", 0.1)
    monkeypatch.setattr("parley.server.journal.hub.RETRY_S", 0.1)
    monkeypatch.setattr("parley.server.queue.consumer.RESTART_S", 0.1)


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def redirected(url: SecretStr, port: int) -> SecretStr:
    """The same server at another port of 127.0.0.1."""
    parts = urlsplit(url.get_secret_value())
    user = f"{parts.username}@" if parts.username else ""
    return SecretStr(urlunsplit(parts._replace(netloc=f"{user}127.0.0.1:{port}")))


class TestNoRedis:
    """Redis was never there."""

    @pytest.fixture
    def stage_settings(self, stage_settings: Settings) -> Settings:
        away = RedisSettings(url=SecretStr(f"redis://127.0.0.1:{closed_port()}/0"), prefix="parley-away")
        return dataclasses.replace(stage_settings, redis=away)

    async def test_run_is_accepted_found_by_the_sweep_and_watched_by_the_journal(self, stage: Stage) -> None:
        stage.llms.configure(gap_ms=3)
        async with stage.worker():
            path = await stage.start(await stage.make_test(**PLAIN))
            live = await stage.events(path)
        assert_in_order(live)
        assert told(live) == told(await stage.events(path))
        assert (await stage.read(path))["state"] == "succeeded"

    async def test_cancelling_works_all_the_same(self, stage: Stage) -> None:
        stage.play(Rule((Say("on and on " * 2_000, gap_ms=5),), part="assistant"))
        async with stage.worker():
            path = await stage.start(await stage.make_test(**PLAIN))
            await until(lambda: stage.llms.stats.by_llm.get("assistant"))
            assert (await stage.http.post(f"{path}/cancel")).status_code == 202
            await stage.llms.wait_until(lambda stats: stats.cancelled == 1, timeout_s=2.0)

    async def test_direct_evaluation_does_not_notice(self, stage: Stage) -> None:
        stage.play(Rule((opinion(0.95),), part="judge"))
        assert_in_order((await stage.evaluated(**PLAIN)).frames)


class TestRedisCut:
    """Redis goes away, and comes back."""

    @pytest.fixture
    async def cable(self, settings: Settings) -> AsyncIterator[Cable]:
        parts = urlsplit(settings.redis.url.get_secret_value())
        async with Cable.to(parts.hostname or "", parts.port or 6379) as cable:
            yield cable

    @pytest.fixture
    def stage_settings(self, stage_settings: Settings, cable: Cable) -> Settings:
        away = stage_settings.redis
        cut = RedisSettings(url=redirected(away.url, cable.port), prefix=away.prefix, timeout_s=0.5)
        return dataclasses.replace(stage_settings, redis=cut)

    async def test_stream_goes_on_and_later_runs_are_taken_as_before(
        self, stage: Stage, cable: Cable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """C159"""
        stage.llms.configure(gap_ms=10)
        async with stage.worker():
            path = await stage.start(await stage.make_test(**PLAIN))
            async with stage.watching(path) as (reading, chunks), asyncio.timeout(20):
                async for chunk in chunks:
                    if not reading.raw:
                        cable.cut()
                    reading.raw += chunk
            assert_in_order(reading.frames)
            assert told(reading.frames) == told(await stage.events(path))
            stage.llms.configure(gap_ms=0)
            during = await stage.start(await stage.make_test(**PLAIN))
            assert (await stage.finished(during))["state"] == "succeeded"
            cable.mend()
            # With the sweep's patience back, only the queue can be this quick.
            monkeypatch.setattr("parley.server.runs.sweep.QUEUE_PATIENCE_S", 3_600)
            await until(lambda: stage.services.hub._is_live)
            after = await stage.start(await stage.make_test(**PLAIN))
            assert (await stage.finished(after))["state"] == "succeeded"

    async def test_stream_opened_while_redis_is_away_is_told_live_again_later(
        self, stage: Stage, cable: Cable
    ) -> None:
        cable.cut()
        stage.llms.configure(gap_ms=10)
        async with stage.worker():
            path = await stage.start(await stage.make_test(**PLAIN))
            async with stage.watching(path) as (reading, chunks), asyncio.timeout(20):
                async for chunk in chunks:
                    if not reading.raw:
                        cable.mend()
                    reading.raw += chunk
        assert_in_order(reading.frames)


async def test_redis_that_may_not_be_written_makes_no_half_run_and_no_slow_stream(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C160: a failover answers READONLY. What can still be read looks alive, and brings nothing."""

    async def refuse(*_: Any, **__: Any) -> None:
        raise ReadOnlyError("You can't write against a read only replica.")

    monkeypatch.setattr("parley.server.journal.hub.PROVE_S", 0)
    stage.llms.configure(gap_ms=3)
    async with stage.worker():
        with monkeypatch.context() as read_only:
            read_only.setattr("redis.asyncio.client.Pipeline.execute", refuse)
            read_only.setattr("redis.asyncio.client.Redis.set", refuse)
            path = await stage.start(await stage.make_test(**PLAIN))
            assert_in_order(await stage.events(path))
            assert stage.services.hub._is_live is False
        await until(lambda: stage.services.hub._is_live)
    assert (await stage.read(path))["state"] == "succeeded"


async def test_stream_of_a_run_whose_worker_does_not_reach_the_bus_is_told_by_the_journal(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley.server.runs.watch.SILENCE_S", 0.1)
    monkeypatch.setattr(Publisher, "_flush_for_ever", asyncio.Event().wait)
    async with stage.worker():
        path = await stage.start(await stage.make_test(**PLAIN))
        assert_in_order(await stage.events(path))
    assert stage.services.hub._is_live


async def test_stream_resumed_while_the_database_is_away_repeats_nothing(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bus remembers the words of entries that the watcher has; the journal cannot say so now."""
    stage.llms.configure(gap_ms=3)
    stage.play(Rule((Hang(3),), part="assistant", turn=2), Rule((Say("Yes, they can."),), part="assistant"))
    async with stage.worker():
        path = await stage.start(await stage.make_test(**PLAIN))
        async with stage.watching(path) as (reading, chunks), asyncio.timeout(10):
            async for chunk in chunks:
                reading.raw += chunk
                if any(frame.data.get("turn_number") == 2 for frame in reading.frames):
                    break
        last = reading.frames[-1]
        read, away = Journal.read, [True, True]

        async def away_at_first(*given: Any) -> Any:
            if away:
                away.pop()
                raise DatabaseAway
            return await read(*given)

        monkeypatch.setattr(Journal, "read", away_at_first)
        async with stage.watching(path, last.id) as (rest, chunks), asyncio.timeout(10):
            async for chunk in chunks:
                rest.raw += chunk
                if b"assistant_message.start_generation" in rest.raw:
                    break
        await stage.http.post(f"{path}/cancel")
        frames = [*reading.frames, *rest.frames]
        wanted = told(await stage.events(path))
    assert away == []
    assert told(frames)[: len(told(frames)) - 1] == wanted[: len(told(frames)) - 1]


class TestPostgresCut:
    """Postgres goes away, and comes back."""

    @pytest.fixture
    async def cable(self, settings: Settings) -> AsyncIterator[Cable]:
        parts = urlsplit(settings.database.url.get_secret_value())
        async with Cable.to(parts.hostname or "", parts.port or 5432) as cable:
            yield cable

    @pytest.fixture
    def stage_settings(self, stage_settings: Settings, cable: Cable) -> Settings:
        whole = stage_settings.database
        cut = DatabaseSettings(
            url=redirected(whole.url, cable.port),
            pool_size=5,
            pool_overflow=5,
        )
        return dataclasses.replace(stage_settings, database=cut)

    async def test_requests_are_503_with_a_wish_to_come_back(self, stage: Stage, cable: Cable) -> None:
        """C197: quota is counted in Postgres, so without it nothing starts, and nothing is half-made."""
        test_id = await stage.make_test(**PLAIN)
        path = await stage.start(test_id)
        cable.cut()
        for method, address in (
            ("POST", f"/api/v1/agentic-tests/{test_id}/runs"),
            ("GET", path),
            ("GET", f"{path}/events"),
            ("POST", f"{path}/cancel"),
            ("POST", DIRECT),
        ):
            body = {"model": stage.gateway["slug"], "goal": GOAL} if address == DIRECT else None
            answer = await stage.http.request(method, address, json=body)
            assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable"), address
            assert int(answer.headers["retry-after"]) >= 1
        cable.mend()
        assert [row["id"] for row in await stage.rows("SELECT id FROM runs")] == [UUID(path[-36:])]
        assert await stage.rows("SELECT id FROM direct_calls") == []

    async def test_run_under_way_waits_and_goes_on(self, stage: Stage, cable: Cable) -> None:
        stage.llms.configure(gap_ms=5)
        async with stage.worker():
            path = await stage.start(await stage.make_test(**PLAIN))
            async with stage.watching(path) as (reading, chunks), asyncio.timeout(20):
                async for chunk in chunks:
                    reading.raw += chunk
                    if b"assistant_message.content" in chunk:
                        break
                cable.cut()
                await asyncio.sleep(0.5)
                cable.mend()
                async for chunk in chunks:
                    reading.raw += chunk
        assert_in_order(reading.frames)
        run = await stage.read(path)
        assert (run["state"], run["attempts"]) == ("succeeded", [])
        assert stage.llms.stats.requests == 9, "no inference was made twice"
        assert told(reading.frames) == told(await stage.events(path))

    async def test_end_of_a_run_waits_for_the_database(
        self, stage: Stage, cable: Cable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        finish, cuts = runs_finish.finish, iter([True])

        async def cut_once(*given: Any) -> Any:
            if next(cuts, False):
                cable.cut()
                asyncio.get_running_loop().call_later(0.4, cable.mend)
            return await finish(*given)

        monkeypatch.setattr("parley.server.runs.hold.finish", cut_once)
        stage.play(Rule((opinion(0.95),), part="judge"))
        async with stage.worker():
            path = await stage.start(await stage.make_test(**PLAIN))
            frames = await stage.events(path)
        assert_in_order(frames)
        assert (await stage.read(path))["attempts"] == []

    async def test_process_that_stops_does_not_wait_for_the_database_for_ever(
        self, stage: Stage, cable: Cable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("parley.server.direct.evaluate.CLOSE_S", 0.3)
        monkeypatch.setattr("parley.server.direct.evaluate.SETTLE_FIRST_S", 0.1)
        stage.play(Rule((Hang(2),), part="assistant"))
        async with stage.evaluating(**PLAIN) as (reading, chunks), asyncio.timeout(10):
            async for chunk in chunks:
                reading.raw += chunk
                if b"assistant_message.content" in chunk:
                    break
            cable.cut()
            closing = asyncio.create_task(stage.services.direct.close())
            async for chunk in chunks:
                reading.raw += chunk
            await closing
        assert reading.frames[-1].data["code"] == "shutdown"
        cable.mend()

    async def test_worker_that_stops_meanwhile_leaves_its_run_to_the_lease(
        self, stage: Stage, cable: Cable
    ) -> None:
        stage.play(Rule((Hang(2), Say("Hi.")), part="assistant"), Rule((opinion(0.95),), part="judge"))
        hurried = dataclasses.replace(
            stage.settings, worker=stage.settings.worker.model_copy(update={"shutdown_grace_s": 0.3})
        )
        async with stage.worker(hurried) as worker:
            path = await stage.start(await stage.make_test(**PLAIN))
            await until(lambda: stage.llms.stats.by_llm.get("assistant"))
            cable.cut()
            await worker.stop()
        cable.mend()
        assert stage.llms.stats.cancelled == 1
        async with stage.worker():
            run = await stage.finished(path)
        assert run["state"] == "succeeded"
        assert [one["code"] for one in run["attempts"]] == ["worker_lost"]

    async def test_direct_evaluation_goes_on_and_is_charged_later(self, stage: Stage, cable: Cable) -> None:
        stage.llms.configure(gap_ms=5)
        stage.play(Rule((opinion(0.95),), part="judge"))
        raw = bytearray()
        async with stage.evaluating(**PLAIN) as (_, chunks), asyncio.timeout(20):
            async for chunk in chunks:
                if not raw:
                    cable.cut()
                raw += chunk
        assert_in_order(frames_of(raw))
        cable.mend()

        async def is_settled() -> bool:
            return bool(await stage.rows("SELECT 1 FROM direct_calls WHERE state = 'ended'"))

        await until(is_settled)
        charges = await stage.rows("SELECT role FROM ledger WHERE source = 'direct' ORDER BY seq")
        assert [row["role"] for row in charges] == ["user", "assistant", "judge"]
