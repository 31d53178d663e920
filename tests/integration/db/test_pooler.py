"""C173: whole runs through PgBouncer in transaction mode, where one is installed."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from pydantic import SecretStr

from parley.server.config import DatabaseSettings, Settings
from tests.stage import Stage, hurried, until
from tests.stage import stage as stage

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
SERVER_CONNECTIONS = 8

pytestmark = [pytest.mark.slow, pytest.mark.skipif(PGBOUNCER is None, reason="no pgbouncer on this machine")]

_CONFIGURATION = """
[databases]
* = host={host} port={port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen_port}
auth_type = any
pool_mode = transaction
default_pool_size = {connections}
unix_socket_dir =
"""


@pytest.fixture
async def pooled_url(database_url: str, tmp_path: Path) -> AsyncIterator[str]:
    """The test's database behind a pooler that hands out a connection for one transaction only."""
    direct = urlsplit(database_url)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    file = tmp_path / "pgbouncer.ini"
    file.write_text(
        _CONFIGURATION.format(
            host=direct.hostname, port=direct.port, listen_port=port, connections=SERVER_CONNECTIONS
        )
    )
    os.chmod(file, 0o644)
    as_root = ["--user", "nobody"] if os.getuid() == 0 else []  # it refuses to run as root
    with file.open() as given:
        process = await asyncio.create_subprocess_exec(
            str(PGBOUNCER), "--quiet", *as_root, "/dev/stdin", stdin=given
        )
    try:
        await until(lambda: answers(port))
        yield urlunsplit(direct._replace(netloc=f"postgres@127.0.0.1:{port}"))
    finally:
        process.terminate()
        await process.wait()


async def answers(port: int) -> bool:
    with contextlib.suppress(OSError):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        await writer.wait_closed()
        return True
    return False


@pytest.fixture
def stage_settings(settings: Settings, pooled_url: str) -> Settings:
    """Everything goes through the pooler."""
    database = DatabaseSettings(url=SecretStr(pooled_url), pool_size=5, pool_overflow=5, pooler_mode=True)
    return dataclasses.replace(hurried(settings), database=database)


async def test_runs_of_two_workers_go_through_a_transaction_pooler(stage: Stage) -> None:
    test_id = await stage.make_test(max_turns=2)
    paths = [await stage.start(test_id) for _ in range(8)]
    async with stage.worker(), stage.worker():
        runs = await asyncio.gather(*map(stage.finished, paths))
    assert {run["state"] for run in runs} == {"succeeded"}
