import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest
from redis import Redis
from redis.exceptions import AuthenticationError

from parley.server.ops.local.binaries import find_postgres
from parley.server.ops.local.errors import LocalStackError
from parley.server.ops.local.postgres import Postgres, PostgresPlan, start_postgres
from parley.server.ops.local.processes import birth_mark
from parley.server.ops.local.valkey import Valkey, ValkeyPlan, start_valkey
from tests.integration.ops.test_processes import eventually


@contextmanager
def postgres(folder: Path, password: str | None = None) -> Iterator[Postgres]:
    server = start_postgres(PostgresPlan(folder=folder, password=password))
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def valkey(folder: Path, password: str | None = None) -> Iterator[Valkey]:
    server = start_valkey(ValkeyPlan(folder=folder, password=password))
    try:
        yield server
    finally:
        server.stop()


def asked(url: str, question: str) -> object:
    async def ask() -> object:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval(question)
        finally:
            await connection.close()

    return asyncio.run(ask())


def test_kept_postgres_wants_its_password_and_keeps_its_data(tmp_path: Path) -> None:
    with postgres(tmp_path, "p4ss") as server:
        asked(server.url(), "CREATE TABLE kept AS SELECT 7 AS number")
        with pytest.raises(asyncpg.InvalidPasswordError):
            asked(server.url().replace(":p4ss", ""), "SELECT 1")
    with postgres(tmp_path, "p4ss") as server:
        assert asked(server.url(), "SELECT number FROM kept") == 7
        assert asked(server.url(), "SHOW fsync") == "on"


def test_throw_away_postgres_is_fast_and_open_to_this_machine_alone(tmp_path: Path) -> None:
    with postgres(tmp_path) as server:
        assert asked(server.url(), "SHOW fsync") == "off"
        assert asked(server.url(), "SHOW listen_addresses") == "127.0.0.1"
        assert asked(server.url(), "SELECT lower('ÉÄ')") == "éä"
        assert asked(server.url(), "SHOW timezone") == "UTC"


def test_a_stopped_postgres_is_gone(tmp_path: Path) -> None:
    with postgres(tmp_path) as server:
        pid = server.child.pid
        assert birth_mark(pid) is not None
    assert birth_mark(pid) is None
    assert not (tmp_path / "postgres" / "postmaster.pid").exists()


def test_a_half_made_data_folder_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "postgres.new").mkdir()
    (tmp_path / "postgres.new" / "PG_VERSION").write_text("18")
    with postgres(tmp_path) as server:
        assert asked(server.url(), "SELECT 1") == 1


def test_the_lock_of_a_dead_server_whose_pid_was_reused_is_no_obstacle(tmp_path: Path) -> None:
    with postgres(tmp_path, "p4ss"):
        lock = (tmp_path / "postgres" / "postmaster.pid").read_text()
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        stale = tmp_path / "postgres" / "postmaster.pid"
        stale.write_text(str(stranger.pid) + "\n" + lock.split("\n", 1)[1])
        with postgres(tmp_path, "p4ss") as server:
            assert asked(server.url(), "SELECT 1") == 1
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_server_that_is_not_ours_is_not_ended_but_named(tmp_path: Path) -> None:
    with postgres(tmp_path) as server:
        (tmp_path / "postgres.pid.json").unlink()
        with pytest.raises(LocalStackError, match=rf"Another PostgreSQL \(process {server.child.pid}\)"):
            start_postgres(PostgresPlan(folder=tmp_path, password=None))
        assert server.child.exit_code() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to become somebody else")
def test_as_root_postgres_reaches_a_folder_closed_to_its_user(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with postgres(closed / "data", "p4ss") as server:
        assert asked(server.url(), "SELECT 1") == 1
        assert Path(f"/proc/{server.child.pid}").stat().st_uid != 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to become somebody else")
def test_as_root_postgres_finds_its_own_programs_below_a_closed_folder(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    programs = find_postgres().folder
    (closed / "programs").symlink_to(programs)
    plan = PostgresPlan(folder=tmp_path / "data", password=None, binaries=str(closed / "programs"))
    server = start_postgres(plan)
    try:
        assert asked(server.url(), "SELECT 1") == 1
    finally:
        server.stop()


def test_kept_valkey_wants_its_password_and_keeps_its_data(tmp_path: Path) -> None:
    with valkey(tmp_path, "p4ss") as server:
        with Redis.from_url(server.url()) as redis:
            redis.set("kept", "7")
        with Redis(port=server.port) as stranger, pytest.raises(AuthenticationError):
            stranger.get("kept")
        assert b"p4ss" not in Path(f"/proc/{server.child.pid}/cmdline").read_bytes()
    with valkey(tmp_path, "p4ss") as server, Redis.from_url(server.url()) as redis:
        assert redis.get("kept") == b"7"


def test_throw_away_valkey_wants_no_password(tmp_path: Path) -> None:
    with valkey(tmp_path) as server:
        with Redis.from_url(server.url()) as redis:
            assert redis.ping()
        pid = server.child.pid
    assert birth_mark(pid) is None


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_servers_end_cleanly_when_their_parent_is_killed_and_keep_their_data(tmp_path: Path) -> None:
    parent = """
import os, pathlib, sys, time
from parley.server.ops.local.postgres import PostgresPlan, start_postgres
from parley.server.ops.local.valkey import ValkeyPlan, start_valkey
folder = pathlib.Path(sys.argv[1])
postgres = start_postgres(PostgresPlan(folder=folder, password="p4ss"))
valkey = start_valkey(ValkeyPlan(folder=folder, password="p4ss"))
print(postgres.child.pid, valkey.child.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    said = subprocess.run(
        [sys.executable, "-c", parent, tmp_path], capture_output=True, text=True, check=False
    )
    assert said.returncode == -signal.SIGKILL, said.stderr
    pids = [int(word) for word in said.stdout.split()]
    assert len(pids) == 2
    assert eventually(lambda: not any(birth_mark(pid) for pid in pids))
    with postgres(tmp_path, "p4ss") as server:
        assert asked(server.url(), "SELECT 1") == 1
    assert "was not properly shut down" not in (tmp_path / "logs" / "postgres.log").read_text()
