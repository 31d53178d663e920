"""One throw-away Postgres and Valkey, shared by several processes and ended by the last of them.

The processes of a parallel test run start and end in any order, and a server dies with the process
that started it. So a keeper of its own owns the servers. Every user holds a shared lock on one
file; the keeper waits for the exclusive one, which the system grants when the last user has let go,
also when that one was killed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from parley.server.ops.local.errors import LocalStackError
from parley.server.ops.local.other_user import private_folder
from parley.server.ops.local.postgres import PostgresPlan, start_postgres
from parley.server.ops.local.processes import birth_mark, recorded_pid, write_record
from parley.server.ops.local.valkey import ValkeyPlan, start_valkey

_START_TIMEOUT_S = 90.0
_END_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """Where they answer: the superuser's `postgresql://` address and a `redis://` address."""

    postgres_url: str
    redis_url: str


@contextlib.contextmanager
def shared_servers(folder: Path) -> Iterator[Servers]:
    """The servers of `folder`, started if nobody has yet; the last user to leave ends and removes them.

    Raises `LocalStackError` when they do not start.
    """
    private_folder(folder)
    with (folder / "users.lock").open("a") as users, (folder / "present.lock").open("a") as present:
        with _alone(folder):
            fcntl.flock(users, fcntl.LOCK_SH)
            fcntl.flock(present, fcntl.LOCK_SH)
            servers = _known_servers(folder) or _start_keeper(folder)
        try:
            yield servers
        finally:
            with _alone(folder):
                is_last = _nobody_else(present.fileno())
                fcntl.flock(users, fcntl.LOCK_UN)
                if is_last:
                    _await_end_of_keeper(folder)
                    shutil.rmtree(folder, ignore_errors=True)


def keep(folder: Path) -> None:
    """The keeper's work: run the servers until nobody uses them."""
    record = folder / "keeper.pid.json"
    write_record(record, os.getpid())
    with (folder / "users.lock").open("a") as users, contextlib.ExitStack() as running:
        postgres = start_postgres(PostgresPlan(folder=folder, password=None))
        running.callback(postgres.stop)
        valkey = start_valkey(ValkeyPlan(folder=folder, password=None))
        running.callback(valkey.stop)
        _publish(folder, Servers(postgres_url=postgres.url(), redis_url=valkey.url()))
        fcntl.flock(users, fcntl.LOCK_EX)
        (folder / "servers.json").unlink()


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Nobody else starts or leaves meanwhile."""
    with (folder / "start.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _nobody_else(present: int) -> bool:
    try:
        fcntl.flock(present, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _known_servers(folder: Path) -> Servers | None:
    if recorded_pid(folder / "keeper.pid.json") is None:
        return None
    try:
        return Servers(**json.loads((folder / "servers.json").read_text()))
    except FileNotFoundError:
        return None


def _start_keeper(folder: Path) -> Servers:
    (folder / "servers.json").unlink(missing_ok=True)
    log = folder / "keeper.log"
    keeper = _spawn_keeper(folder, log)
    deadline = time.monotonic() + _START_TIMEOUT_S
    while (servers := _known_servers(folder)) is None:
        if birth_mark(keeper) is None or time.monotonic() > deadline:
            raise LocalStackError(f"The test servers did not start:\n{log.read_text()[-4000:]}")
        time.sleep(0.02)
    return servers


def _spawn_keeper(folder: Path, log: Path) -> int:
    """Its pid. It is no child to wait for: it outlives this process whenever another user is left."""
    argv = [sys.executable, "-m", __name__, str(folder)]
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    files = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), append, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawn(sys.executable, argv, os.environ, file_actions=files, setsid=True)


def _publish(folder: Path, servers: Servers) -> None:
    """Write all at once: a reader sees nothing or the whole."""
    unfinished = folder / "servers.json.new"
    unfinished.write_text(json.dumps(dataclasses.asdict(servers)))
    unfinished.rename(folder / "servers.json")


def _await_end_of_keeper(folder: Path) -> None:
    deadline = time.monotonic() + _END_TIMEOUT_S
    while recorded_pid(folder / "keeper.pid.json") is not None and time.monotonic() < deadline:
        time.sleep(0.02)


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
