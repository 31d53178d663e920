"""Many open streams: what they cost, and how they end."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from parley.server.config import ApiSettings, DatabaseSettings, RunSettings, Settings
from parley.server.llm.demo import Hang, Rule
from tests.factories.accounts import bearer, make_key
from tests.stage import Reading, Stage, client_of, told, until

PLAIN: dict[str, Any] = {"seed": 7, "max_turns": 2, "profile": "low"}
STREAMS = 200


def in_use(stage: Stage) -> int:
    """Connections that somebody holds: taken from the pool, and not just kept at hand for the next."""
    database = stage.services.database
    pool: Any = database.engine.pool
    return int(pool.checkedout()) - len(database._raw._kept)


class TestMany:
    """Streams with the key's cache as shipped: looking a key up takes a connection, too."""

    @pytest.fixture
    def stage_settings(self, stage_settings: Settings) -> Settings:
        return dataclasses.replace(
            stage_settings,
            # On a busy machine two hundred openings queue for the pool longer than its usual patience.
            database=stage_settings.database.model_copy(update={"pool_timeout_s": 30}),
            api=ApiSettings(port=0, requests_per_minute=0, key_cache_s=10),
            run=RunSettings(stream_check_s=1),
        )

    async def test_open_streams_hold_no_database_connection(self, stage: Stage) -> None:
        """C091: two hundred watchers with a pool of five, and plain requests are answered."""
        test_id = await stage.make_test(**PLAIN)
        pending = await stage.start(test_id)
        stage.play(Rule((Hang(2),), part="assistant"))
        running = await stage.start(test_id)
        async with contextlib.AsyncExitStack() as opened, client_of(stage.url, stage.tenant.auth) as client:
            worker = await opened.enter_async_context(stage.worker())
            await until(lambda: worker.held == 2)
            readings: list[Reading] = []
            for path in (pending, running):
                streams = [
                    opened.enter_async_context(stage.watching(path, client=client))
                    for _ in range(STREAMS // 2)
                ]
                readings += [reading for reading, _ in await asyncio.gather(*streams)]
            assert [reading.status for reading in readings] == [200] * STREAMS
            await until(lambda: in_use(stage) == 0)
            for _ in range(10):
                assert (await stage.http.get(pending)).status_code == 200  # 503 if streams held the pool
            await until(lambda: in_use(stage) == 0)
            for path in (pending, running):
                await stage.http.post(f"{path}/cancel")


async def test_every_watcher_of_a_run_hears_all_of_it(stage: Stage) -> None:
    stage.llms.configure(gap_ms=3)
    async with stage.worker():
        path = await stage.start(await stage.make_test(**PLAIN))
        streams = await asyncio.gather(*(stage.events(path) for _ in range(20)))
    story = told(await stage.events(path))
    assert [told(frames) == story for frames in streams] == [True] * 20


async def test_watchers_that_leave_are_forgotten(stage: Stage) -> None:
    path = await stage.start(await stage.make_test(**PLAIN))
    async with client_of(stage.url, stage.tenant.auth) as client, contextlib.AsyncExitStack() as opened:
        for _ in range(10):
            await opened.enter_async_context(stage.watching(path, client=client))
        await until(lambda: sum(map(len, stage.services.hub._watches.values())) == 10)
    await until(lambda: not stage.services.hub._watches)
    assert not stage.services.hub._places


async def closed_by_the_server(chunks: AsyncIterator[bytes]) -> None:
    """The connection is closed in the middle of the body: the run has not ended, and the client knows."""

    async def read() -> None:
        async for _ in chunks:
            pass

    with pytest.raises(httpx.RemoteProtocolError):
        await asyncio.wait_for(read(), 5)


async def test_revoked_key_ends_its_open_streams_and_no_others(stage: Stage) -> None:
    path = await stage.start(await stage.make_test(**PLAIN))
    key = await make_key(stage.services.database, stage.tenant.account_id)
    async with (
        client_of(stage.url, bearer(key.token)) as client,
        stage.watching(path) as (_, kept),
        stage.watching(path, client=client) as (_, chunks),
    ):
        assert (await stage.http.delete(f"/api/v1/keys/{key.id}")).status_code == 204
        await closed_by_the_server(chunks)
        assert (await client.get(f"{path}/events")).status_code == 401
        await stage.http.post(f"{path}/cancel")
        assert b'"cancelled"' in b"".join([chunk async for chunk in kept])


async def test_suspended_account_loses_its_open_streams(stage: Stage) -> None:
    path = await stage.start(await stage.make_test(**PLAIN))
    async with stage.watching(path) as (_, chunks):
        async with stage.services.database.raw() as connection:
            await connection.execute("UPDATE accounts SET status = 'suspended'")
        await closed_by_the_server(chunks)


class TestForgetfulBus:
    """Whatever the bus drops, a watcher finds in the journal."""

    @pytest.fixture
    def stage_settings(self, stage_settings: Settings) -> Settings:
        return dataclasses.replace(stage_settings, run=RunSettings(sse_ping_s=0.3))

    @pytest.mark.parametrize("lost", ["deltas", "entries", "all"])
    async def test_bus_that_loses_messages_only_delays(
        self, stage: Stage, monkeypatch: pytest.MonkeyPatch, lost: str
    ) -> None:
        """Whatever the bus drops, a watcher finds in the journal."""
        pipeline_type = type(stage.services.redis.pipeline(transaction=False))
        xadd, count = pipeline_type.xadd, iter(range(100_000))

        def forgetful(self: Any, name: Any, fields: Any, **options: Any) -> Any:
            message = fields.get(b"m", b"")
            is_entry = b'"entry"' in message
            drops = {"deltas": not is_entry, "entries": is_entry, "all": True}[lost] and next(count) % 2 == 0
            return self if message and drops else xadd(self, name, fields, **options)

        monkeypatch.setattr(pipeline_type, "xadd", forgetful)
        monkeypatch.setattr("parley.server.journal.bus.FLUSH_S", 0.005)
        stage.llms.configure(gap_ms=3)
        async with stage.worker():
            path = await stage.start(await stage.make_test(**PLAIN))
            live = await stage.events(path)
        assert told(live) == told(await stage.events(path))

    async def test_redis_that_forgets_everything_only_delays(self, stage: Stage) -> None:
        redis, prefix = stage.services.redis, stage.settings.redis.prefix

        async def forget() -> None:
            while True:
                keys = [key async for key in redis.scan_iter(f"{prefix}:*")]
                if keys:
                    await redis.delete(*keys)
                await asyncio.sleep(0.03)

        stage.llms.configure(gap_ms=3)
        forgetting = asyncio.create_task(forget())
        async with stage.worker():
            path = await stage.start(await stage.make_test(**PLAIN))
            live = await stage.events(path)
        forgetting.cancel()
        assert told(live) == told(await stage.events(path))


class TestFewConnections:
    """Many more runs at once than there are connections."""

    @pytest.fixture
    async def database_url(self, fresh_database_url: str) -> str:
        """One whose plans may be changed."""
        return fresh_database_url

    @pytest.fixture
    def stage_settings(self, stage_settings: Settings) -> Settings:
        url = stage_settings.database.url
        return dataclasses.replace(
            stage_settings,
            database=DatabaseSettings(url=url, pool_size=2, pool_overflow=0, pool_timeout_s=20),
            api=ApiSettings(port=0, requests_per_minute=0, key_cache_s=10),
            run=RunSettings(stream_check_s=5),
        )

    async def test_forty_runs_share_two_connections(
        self, stage: Stage, caplog: pytest.LogCaptureFixture
    ) -> None:
        """C171"""
        await stage.rows("UPDATE plans SET concurrent_runs = 40")
        stage.llms.configure(latency_ms=50)
        test_id = await stage.make_test(**PLAIN)
        paths = [await stage.start(test_id) for _ in range(40)]
        async with stage.worker() as worker:
            await until(lambda: worker.held > 20)
            frames = await asyncio.gather(*map(stage.events, paths))
        assert [one[-1].type for one in frames] == ["chat.validation.end"] * 40
        assert stage.llms.stats.requests == 40 * 6
        assert "away" not in caplog.text
