"""Watches the stack's processes, and ends them all when one dies or a person asks."""

from __future__ import annotations

import math
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from parley.server.ops.local.errors import LocalStackError
from parley.server.ops.local.processes import Child, Program, ended_how

STOP_REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
RESTARTS_PER_MINUTE = 3
"""A worker that dies more often than this is broken, not unlucky."""

_LOOK_EVERY_S = 0.05


class StopRequested(BaseException):
    """A person, or the system, wants the stack to end."""


class Supervisor:
    """Owns the children, in the order of their start; they are ended in the opposite order."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._children: list[Child] = []
        self._restarts: dict[str, deque[float]] = {}
        self._stopping = False
        self._request: str | None = None
        """The signal that asked to stop."""

    @contextmanager
    def running(self) -> Iterator[None]:
        """Turn stop requests into `StopRequested`, and end every child on the way out."""
        # `nohup` wants the end of its terminal to be ignored.
        wanted = [one for one in STOP_REQUESTS if one != signal.SIGHUP or not _is_ignored(one)]
        previous = {number: signal.signal(number, self._on_request) for number in wanted}
        try:
            yield
        finally:
            self._stopping = True
            self._stop_all()
            for number, handler in previous.items():
                signal.signal(number, handler)

    def adopt(self, child: Child) -> Child:
        """Watch a child that runs already."""
        self._children.append(child)
        return child

    def start(self, program: Program, *, restart: bool = False) -> Child:
        """Start a child and watch it; with `restart` it is started again when it dies."""
        if restart:
            self._restarts.setdefault(program.name, deque(maxlen=RESTARTS_PER_MINUTE))
        return self.adopt(Child(program))

    def run_once(self, program: Program, timeout_s: float) -> Child:
        """Run a program to its good end. Raises `LocalStackError` with its last words otherwise."""
        child = Child(program)
        try:
            self.watch(lambda: child.exit_code() is not None, timeout_s, f"the end of {child.name}")
            if code := child.exit_code():
                raise LocalStackError(f"{child.name} {ended_how(code)}. {_last_words(child)}")
        finally:
            child.kill()
        return child

    def watch(
        self, until: Callable[[], bool] = lambda: False, timeout_s: float = math.inf, what: str = ""
    ) -> None:
        """Wait for `until`. Raises `LocalStackError` when a child dies, or `what` takes too long;
        `StopRequested` when somebody asks to stop, or has asked."""
        deadline = time.monotonic() + timeout_s
        while not until():
            if self._request:
                # What is raised in the middle of a fork is swallowed there.
                raise StopRequested(self._request)
            for child in tuple(self._children):
                if (code := child.exit_code()) is not None:
                    self._died(child, code)
            if time.monotonic() > deadline:
                raise LocalStackError(f"Waited {timeout_s:.0f} s for {what} in vain; see the logs.")
            time.sleep(_LOOK_EVERY_S)

    def _died(self, child: Child, code: int) -> None:
        child.kill()
        self._children.remove(child)
        if not self._may_restart(child.name):
            raise LocalStackError(f"{child.name} {ended_how(code)}, so the stack stops. {_last_words(child)}")
        self._say(f"{child.name} {ended_how(code)} and is started again; see {child.program.log}")
        self.start(child.program)

    def _may_restart(self, name: str) -> bool:
        times = self._restarts.get(name)
        if times is None:
            return False
        now = time.monotonic()
        if len(times) == RESTARTS_PER_MINUTE and now - times[0] < 60:
            return False
        times.append(now)
        return True

    def _on_request(self, number: int, _frame: FrameType | None) -> None:
        if self._stopping:
            self._say("Killing what is left.")
            for child in self._children:
                child.force()
            return
        self._stopping = True
        self._request = signal.Signals(number).name
        raise StopRequested(self._request)

    def _stop_all(self) -> None:
        """Everything that serves together; then, one by one, what it rests on."""
        serving = [child for child in self._children if not child.program.is_ground]
        ground = [child for child in self._children if child.program.is_ground]
        for child in serving:
            child.ask_to_stop()
        for child in (*serving, *reversed(ground)):
            child.stop()
        self._children.clear()


def _is_ignored(number: signal.Signals) -> bool:
    return signal.getsignal(number) is signal.SIG_IGN


def _last_words(child: Child) -> str:
    lines = "\n".join(f"  {line}" for line in child.last_lines())
    return f"Its whole log is {child.program.log}; its last lines:\n{lines or '  (nothing)'}"
