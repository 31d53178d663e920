"""A dump restored into an empty server: the service goes on there, as docs/operations/backup.md tells."""

from __future__ import annotations

import asyncio
import dataclasses
import subprocess
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from parley.sdk.cli import build_app
from parley.server.config import RedisSettings, Settings
from parley.server.db import migrate
from parley.server.llm.demo import Hang, Rule
from parley.server.ops.local.binaries import find_postgres
from parley.server.ops.local.postgres import PostgresPlan, start_postgres
from parley.server.wiring import open_services
from tests.conftest import serving
from tests.stage import Stage, StageWorker, client_of, until
from tests.stage import stage as stage
from tests.stage import stage_settings as stage_settings

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]
FIELDS = {"seed": 7, "max_turns": 3}


@asynccontextmanager
async def new_server(folder: Path) -> AsyncIterator[str]:
    """A server of the test's own with one empty database; gives its address."""
    server = await asyncio.to_thread(start_postgres, PostgresPlan(folder=folder, password=None))
    try:
        await server_says(server.url(), "CREATE DATABASE parley")
        yield server.url().rpartition("/")[0] + "/parley"
    finally:
        await asyncio.to_thread(server.stop)


@pytest.fixture
async def database_url(tmp_path: Path) -> AsyncIterator[str]:
    """The service's database, on a server like the one it will be restored to."""
    async with new_server(tmp_path / "old") as url:
        await asyncio.to_thread(migrate.upgrade, url)
        yield url


@pytest.fixture
async def empty_server(tmp_path: Path) -> AsyncIterator[str]:
    """A server that has never held anything but an empty database."""
    async with new_server(tmp_path / "new") as url:
        yield url


async def server_says(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def tool(name: str, *words: str) -> None:
    """Run one of PostgreSQL's programs."""
    program = find_postgres().folder / name
    process = await asyncio.create_subprocess_exec(
        program, *words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()


async def dump_and_restore(source: str, target: str, file: Path) -> None:
    """The two commands of the page."""
    await tool("pg_dump", "--format=custom", "--no-owner", f"--file={file}", source)
    await tool("pg_restore", "--no-owner", "--exit-on-error", f"--dbname={target}", str(file))


def moved(settings: Settings, database_url: str) -> Settings:
    """The same service over another database, and a Redis that knows nothing."""
    database = settings.database.model_copy(update={"url": SecretStr(database_url)})
    redis = RedisSettings(url=settings.redis.url, prefix=f"parley-test-{uuid.uuid4().hex[:12]}")
    return dataclasses.replace(settings, database=database, redis=redis)


async def leave_a_run_half_way(stage: Stage, test_id: str) -> str:
    """A run whose worker died in its second turn."""
    stage.llms.reset()
    stage.play(Rule((Hang(2),), part="assistant", turn=2))
    path = await stage.start(test_id)
    async with open_services(stage.settings) as services:
        worker = StageWorker(services)
        await until(lambda: stage.llms.stats.by_llm.get("assistant") == 2)
        await worker.kill()
    stage.play()
    return path


async def test_service_goes_on_from_a_dump(stage: Stage, empty_server: str, tmp_path: Path) -> None:
    test_id = await stage.make_test(**FIELDS)
    async with stage.worker():
        ended = await stage.finished(await stage.start(test_id))
    half_way = await leave_a_run_half_way(stage, test_id)
    pending = await stage.start(test_id)
    before = await stage.read("/api/v1/information/balance")
    source = stage.settings.database.url.get_secret_value()
    await dump_and_restore(source, empty_server, tmp_path / "parley.dump")
    assert await migrate.current(empty_server) == migrate.head()

    settings = moved(stage.settings, empty_server)
    async with (
        open_services(settings) as services,
        serving(services) as url,
        client_of(url, stage.tenant.auth) as http,
    ):
        restored = dataclasses.replace(stage, settings=settings, services=services, url=url, http=http)
        assert await restored.read("/api/v1/information/balance") == before
        path = half_way.rpartition("/")[0]
        assert await restored.read(f"{path}/{ended['id']}") == ended
        async with restored.worker():
            runs = [await restored.finished(path) for path in (half_way, pending)]
            fresh = await restored.finished(await restored.start(test_id))
    assert [run["state"] for run in (*runs, fresh)] == ["succeeded"] * 3
    turns = [item["turn"] for item in runs[0]["conversation"] if item["role"] == "assistant"]
    assert turns == sorted(set(turns)), "what was kept is not said again"
    assert await money_check(empty_server) == 0


async def money_check(database_url: str) -> int:
    """The audit of the books, as the page asks for after a restore."""
    result = await asyncio.to_thread(
        CliRunner().invoke, build_app(), ["money", "check"], env={"PARLEY_DATABASE_URL": database_url}
    )
    return result.exit_code
