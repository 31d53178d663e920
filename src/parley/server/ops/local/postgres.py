"""An embedded Postgres as our own child process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from parley.server.ops.local.binaries import PostgresBinaries, find_postgres
from parley.server.ops.local.errors import LocalStackError
from parley.server.ops.local.other_user import OtherUser, private_folder, user_for_postgres
from parley.server.ops.local.ports import LOOPBACK, free_port
from parley.server.ops.local.processes import Child, Program, birth_mark, end_leftover

SUPERUSER = "postgres"
STOP_SIGNALS = (signal.SIGINT, signal.SIGQUIT)
"""Fast, then immediate shutdown, in Postgres' own terms."""

_READY_TIMEOUT_S = 60.0
_START_ATTEMPTS = 3
_THROW_AWAY = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200")


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresPlan:
    """Where the data lies and how it is guarded.

    `folder` receives `postgres/` (data), `postgres.pid.json` and `logs/postgres.log`. With a
    `password` the data is kept and every connection must know it; without one the server trusts the
    machine and forgets its data in a crash: for tests only. `binaries` is a folder to prefer.
    """

    folder: Path
    password: str | None
    binaries: str | None = None

    @property
    def data(self) -> Path:
        """Postgres' own data folder."""
        return self.folder / "postgres"

    @property
    def record(self) -> Path:
        """Notes the running server for the next start."""
        return self.folder / "postgres.pid.json"

    @property
    def log(self) -> Path:
        """All the server says."""
        return self.folder / "logs" / "postgres.log"


@dataclass(frozen=True, slots=True, kw_only=True)
class Postgres:
    """A server that answers."""

    plan: PostgresPlan
    child: Child
    port: int

    def url(self, database: str = "postgres") -> str:
        """How to connect, as `postgresql://`."""
        secret = f":{self.plan.password}" if self.plan.password else ""
        return f"postgresql://{SUPERUSER}{secret}@{LOOPBACK}:{self.port}/{database}"

    def stop(self) -> None:
        """A fast shutdown; connections are closed, data is written."""
        self.child.stop()


def start_postgres(plan: PostgresPlan) -> Postgres:
    """Make the data folder if there is none, end a leftover server, start, wait until it answers.

    Raises `LocalStackError`.
    """
    private_folder(plan.folder)
    private_folder(plan.log.parent)
    binaries = find_postgres(plan.binaries, _data_major(plan.data))
    user = user_for_postgres(plan.data, binaries.initdb)
    end_leftover(plan.record, STOP_SIGNALS)
    if not plan.data.exists():
        _make_data(plan, binaries, user)
    _forget_dead_postmaster(plan.data)
    for attempt in range(_START_ATTEMPTS):
        try:
            return _start(plan, binaries, user)
        except LocalStackError as trouble:
            # Between choosing a free port and listening on it, somebody else may have taken it.
            if "could not bind" not in str(trouble) or attempt == _START_ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


def _data_major(data: Path) -> int | None:
    try:
        return int((data / "PG_VERSION").read_text())
    except (OSError, ValueError):
        return None


def _make_data(plan: PostgresPlan, binaries: PostgresBinaries, user: OtherUser | None) -> None:
    """Run `initdb` beside the final place and move the result, so that a half-made folder never counts."""
    unfinished = plan.folder / "postgres.new"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    password_file = plan.folder / "postgres.password.new"
    argv: list[str | Path] = [binaries.initdb, "-D", unfinished, "-U", SUPERUSER]
    argv += ["-E", "UTF8", "--locale=C", "--no-instructions"]
    # Waiting for the disk takes seconds. The price: a power cut within the first half minute of a new
    # folder may damage it, when there is next to nothing in it.
    argv += ["--no-sync"]
    if binaries.major >= 17:
        # Letters beyond ASCII compare and fold as people expect, whatever the machine's locale.
        argv += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    if plan.password is None:
        argv += ["-A", "trust"]
    else:
        password_file.touch(mode=0o600)
        password_file.write_text(plan.password)
        argv += ["-A", "scram-sha-256", f"--pwfile={password_file}"]
    if user is not None:
        for path in (unfinished, password_file):
            if path.exists():
                os.chown(path, user.uid, user.gid)
    try:
        _run_initdb(plan, argv, user)
    finally:
        password_file.unlink(missing_ok=True)
    unfinished.rename(plan.data)


def _run_initdb(plan: PostgresPlan, argv: list[str | Path], user: OtherUser | None) -> None:
    initdb = Child(
        Program(
            name="initdb",
            argv=argv,
            log=plan.log,
            record=plan.folder / "initdb.pid.json",
            cwd=plan.folder / "postgres.new",
            user=user,
        )
    )
    try:
        code = initdb.wait(timeout_s=120)
        if code != 0:
            said = "\n".join(initdb.last_lines())
            raise LocalStackError(f"PostgreSQL could not make its data folder:\n{said}")
    finally:
        initdb.kill()


def _forget_dead_postmaster(data: Path) -> None:
    """Remove the lock of a server that is gone: Postgres itself is fooled when its pid was reused."""
    lock = data / "postmaster.pid"
    try:
        pid = int(lock.read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return
    if _works_in(pid, data):
        raise LocalStackError(
            f"Another PostgreSQL (process {pid}) uses {data}; stop it with `kill -INT {pid}` and try again."
        )
    lock.unlink(missing_ok=True)


def _works_in(pid: int, data: Path) -> bool:
    """Whether the process is a server of this data folder: every one has it as its working folder."""
    if birth_mark(pid) is None:
        return False
    proc = Path(f"/proc/{pid}/cwd")
    if proc.is_symlink():
        return proc.readlink() == data.resolve()
    command = subprocess.run(
        ["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout
    return str(data) in command


def _start(plan: PostgresPlan, binaries: PostgresBinaries, user: OtherUser | None) -> Postgres:
    port = free_port()
    argv: list[str | Path] = [binaries.postgres, "-D", plan.data.resolve(), "-p", str(port)]
    settings = [
        f"listen_addresses={LOOPBACK}",
        "unix_socket_directories=",
        "timezone=UTC",
        "log_timezone=UTC",
    ]
    if plan.password is None:
        settings += _THROW_AWAY
    for setting in settings:
        argv += ["-c", setting]
    child = Child(
        Program(
            name="postgres",
            argv=argv,
            log=plan.log,
            record=plan.record,
            cwd=plan.data,
            user=user,
            stop_signals=STOP_SIGNALS,
            on_parent_death=signal.SIGINT,
            force=signal.SIGQUIT,
            is_ground=True,
        )
    )
    try:
        child.wait_until(lambda: _is_ready(plan.data, child.pid), _READY_TIMEOUT_S)
    except BaseException:
        child.stop()
        raise
    return Postgres(plan=plan, child=child, port=port)


def _is_ready(data: Path, pid: int) -> bool:
    """The server writes its state into the eighth line of its lock file."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except OSError:
        return False
    return len(lines) >= 8 and lines[0] == str(pid) and lines[7].strip() == "ready"
