"""Child processes that never outlive their parent, and records to find those that did."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from parley.server.ops.local.errors import LocalStackError
from parley.server.ops.local.other_user import OtherUser

_PR_SET_PDEATHSIG = 1
_HAS_PROC = Path("/proc/self/stat").exists()
"""Linux, in short: it also knows how to tell a child that its parent died."""
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to run, and how to end it.

    `stop_signals` are sent one after another, each with `patience_s` seconds to obey, before the
    kill. `on_parent_death` is what the system sends (Linux) when the parent dies, `force` what an
    impatient person causes. The rest of the stack stands on `is_ground` programs: they end last.
    """

    name: str
    argv: Sequence[str | Path]
    log: Path
    record: Path
    env: Mapping[str, str] | None = None
    cwd: Path | None = None
    user: OtherUser | None = None
    stop_signals: tuple[signal.Signals, ...] = (signal.SIGTERM,)
    on_parent_death: signal.Signals = signal.SIGKILL
    force: signal.Signals = signal.SIGKILL
    patience_s: float = 5.0
    is_ground: bool = False


class Child:
    """A started program, in a session of its own, so that Ctrl-C in the terminal reaches us alone."""

    def __init__(self, program: Program) -> None:
        """Start it. Call this in the main thread: the leash is tied to the thread that forks.

        Raises `LocalStackError` when it cannot be started.
        """
        self.program = program
        self._log_start = program.log.stat().st_size if program.log.exists() else 0
        self._asked = False
        with program.log.open("ab") as log:
            try:
                self._popen = subprocess.Popen(
                    program.argv,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=program.env,
                    cwd=program.cwd,
                    start_new_session=True,
                    preexec_fn=functools.partial(
                        _before_exec, os.getpid(), program.on_parent_death, program.user
                    ),
                )
            except OSError as error:
                raise LocalStackError(f"{program.name} could not be started: {error}.") from error
            except subprocess.SubprocessError as error:
                raise LocalStackError(
                    f"{program.name} does not run as root and could not become another user; run as an "
                    "ordinary user, or choose a data folder that others may pass through (not below /root)."
                ) from error
        write_record(program.record, self.pid)

    @property
    def name(self) -> str:
        """What people call it."""
        return self.program.name

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._popen.pid

    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._popen.poll()

    def wait(self, timeout_s: float | None = None) -> int:
        """Its exit code. Raises `TimeoutError`."""
        try:
            return self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"{self.name} still runs after {timeout_s} s") from error

    def wait_until(self, is_ready: Callable[[], bool], timeout_s: float) -> None:
        """Wait for `is_ready`. Raises `LocalStackError` with its last words if it ends or takes too long."""
        deadline = time.monotonic() + timeout_s
        while not is_ready():
            if (code := self.exit_code()) is not None:
                raise LocalStackError(f"{self.name} {ended_how(code)} while starting. {self._last_words()}")
            if time.monotonic() > deadline:
                raise LocalStackError(
                    f"{self.name} is not ready after {timeout_s:.0f} s. {self._last_words()}"
                )
            time.sleep(0.01)

    def last_lines(self, count: int = 20) -> list[str]:
        """The end of what this start of it wrote."""
        with self.program.log.open("rb") as log:
            end = log.seek(0, os.SEEK_END)
            log.seek(max(self._log_start, end - 64_000))
            return log.read().decode(errors="replace").splitlines()[-count:]

    def ask_to_stop(self) -> None:
        """Send the first stop signal, once, and do not wait."""
        if not self._asked:
            self._asked = True
            self._signal(self.program.stop_signals[0])

    def force(self) -> None:
        """Make it end now, and do not wait."""
        self._signal(self.program.force)

    def stop(self) -> None:
        """End it: every stop signal in turn, then the kill. Returns when it and its group are gone."""
        self.ask_to_stop()
        for stop_signal in (*self.program.stop_signals[1:], None):
            with contextlib.suppress(TimeoutError):
                self.wait(self.program.patience_s)
                break
            if stop_signal is not None:
                self._signal(stop_signal)
        self.kill()

    def kill(self) -> None:
        """End it and whatever it started in its group, at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self.wait()
        self.program.record.unlink(missing_ok=True)

    def _signal(self, number: signal.Signals) -> None:
        if self.exit_code() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _last_words(self) -> str:
        lines = self.last_lines()
        return "Its last lines:\n" + "\n".join(lines) if lines else "It said nothing."


def ended_how(code: int) -> str:
    """An exit code in words."""
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def write_record(path: Path, pid: int) -> None:
    """Note which process runs, so that the next start can find it."""
    path.write_text(json.dumps({"pid": pid, "birth": birth_mark(pid)}))


def recorded_pid(path: Path) -> int | None:
    """The pid in a record if that very process still runs; None if it is gone or its pid was reused."""
    try:
        record = json.loads(path.read_text())
        pid, birth = int(record["pid"]), record["birth"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return pid if birth is not None and birth_mark(pid) == birth else None


def end_leftover(path: Path, stop_signals: Sequence[signal.Signals], patience_s: float = 5.0) -> bool:
    """End the process an earlier, killed start left behind. Whether there was one."""
    pid = recorded_pid(path)
    if pid is None:
        path.unlink(missing_ok=True)
        return False
    for number in (*stop_signals, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + patience_s
        while recorded_pid(path) is not None and time.monotonic() < deadline:
            time.sleep(0.02)
        if recorded_pid(path) is None:
            break
    path.unlink(missing_ok=True)
    return True


def birth_mark(pid: int) -> str | None:
    """When a process began, as text that no later process with the same pid shares; None if it is gone."""
    if _HAS_PROC:
        return _birth_from_proc(pid)
    question = ["ps", "-o", "lstart=", "-p", str(pid)]
    return subprocess.run(question, capture_output=True, text=True, check=False).stdout.strip() or None


def _birth_from_proc(pid: int) -> str | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    state, ticks_since_boot = fields[0], fields[19]
    return None if state in "ZX" else f"{boot}:{ticks_since_boot}"


def _before_exec(parent: int, leash: signal.Signals, user: OtherUser | None) -> None:
    """In the forked child: become the other user, then tie its life to the parent's.

    The leash comes second, because a change of user undoes it.
    """
    if user is not None:
        user.become()
    if _HAS_PROC:
        _libc.prctl(_PR_SET_PDEATHSIG, int(leash), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
