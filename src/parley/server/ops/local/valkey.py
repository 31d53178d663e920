"""An embedded Valkey (or Redis) as our own child process."""

from __future__ import annotations

import os
import signal
import socket
from dataclasses import dataclass
from pathlib import Path

from parley.server.ops.local.binaries import find_valkey
from parley.server.ops.local.errors import LocalStackError
from parley.server.ops.local.other_user import private_folder
from parley.server.ops.local.ports import LOOPBACK, free_port
from parley.server.ops.local.processes import Child, Program, end_leftover

STOP_SIGNALS = (signal.SIGTERM,)

_READY_TIMEOUT_S = 30.0
_START_ATTEMPTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ValkeyPlan:
    """Where the data lies and how it is guarded.

    `folder` receives `valkey/` (data), `valkey.conf`, `valkey.pid.json` and `logs/valkey.log`. With a
    `password` the data is kept; without one it is not, and any local process may connect: for tests
    only. `binary` is a program to prefer.
    """

    folder: Path
    password: str | None
    binary: str | None = None

    @property
    def record(self) -> Path:
        """Notes the running server for the next start."""
        return self.folder / "valkey.pid.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Valkey:
    """A server that answers."""

    plan: ValkeyPlan
    child: Child
    port: int

    def url(self, database: int = 0) -> str:
        """How to connect, as `redis://`."""
        secret = f":{self.plan.password}@" if self.plan.password else ""
        return f"redis://{secret}{LOOPBACK}:{self.port}/{database}"

    def stop(self) -> None:
        """Write what is kept, and end."""
        self.child.stop()


def start_valkey(plan: ValkeyPlan) -> Valkey:
    """End a leftover server, start, wait until it answers. Raises `LocalStackError`."""
    private_folder(plan.folder)
    private_folder(plan.folder / "logs")
    (plan.folder / "valkey").mkdir(mode=0o700, exist_ok=True)
    binary = find_valkey(plan.binary)
    end_leftover(plan.record, STOP_SIGNALS)
    for attempt in range(_START_ATTEMPTS):
        try:
            return _start(plan, binary)
        except LocalStackError as trouble:
            # Between choosing a free port and listening on it, somebody else may have taken it.
            if "in use" not in str(trouble) or attempt == _START_ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


def _start(plan: ValkeyPlan, binary: Path) -> Valkey:
    port = free_port()
    child = Child(
        Program(
            name="valkey",
            argv=[binary, _write_settings(plan, port)],
            log=plan.folder / "logs" / "valkey.log",
            record=plan.record,
            cwd=plan.folder / "valkey",
            stop_signals=STOP_SIGNALS,
            on_parent_death=signal.SIGTERM,
            is_ground=True,
        )
    )
    try:
        child.wait_until(lambda: answers_ping(port, plan.password), _READY_TIMEOUT_S)
    except BaseException:
        child.stop()
        raise
    return Valkey(plan=plan, child=child, port=port)


def _write_settings(plan: ValkeyPlan, port: int) -> Path:
    """The settings as a file only we can read, so that the password is in no process list."""
    path = plan.folder / "valkey.conf"
    lines = [f"bind {LOOPBACK}", f"port {port}", "daemonize no", 'save ""']
    lines.append(f"appendonly {'yes' if plan.password else 'no'}")
    if plan.password:
        lines.append(f"requirepass {plan.password}")
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write("\n".join(lines) + "\n")
    return path.resolve()


def answers_ping(port: int, password: str | None = None) -> bool:
    """Whether a Redis server on the loopback address answers `PING`."""
    commands = f"AUTH {password}\r\n" if password else ""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1.0) as connection:
            connection.sendall(f"{commands}PING\r\n".encode())
            answer = b""
            while not answer.endswith(b"PONG\r\n"):
                piece = connection.recv(256)
                answer += piece
                if not piece or b"-" in answer:
                    return False
    except OSError:
        return False
    return True
