"""How the local stack speaks in the terminal: short lines, the rest in the logs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from rich.console import Console
from rich.text import Text

_COLORS = ("cyan", "magenta", "green", "yellow", "blue", "bright_red")
_LOOK_EVERY_S = 0.1
_LARGE_LOG_BYTES = 5_000_000


class Voice:
    """Lines for people. With `verbose` also every line of every log, behind the name of its process."""

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self.console = console
        self.verbose = verbose

    def say(self, line: str, style: str = "") -> None:
        """One line as it is; long ones wrap, addresses are not cut."""
        self.console.print(Text(line, style=style), soft_wrap=True)

    def done(self, line: str) -> None:
        """Something that went well."""
        self.say(f"  ✓ {line}", style="green")

    def warning(self, line: str) -> None:
        """Something that works, though not as it should."""
        self.say(f"  ! {line}", style="yellow")

    def trouble(self, text: str) -> None:
        """Something that went wrong, in full."""
        self.say(text, style="bold red")


@contextlib.contextmanager
def following(voice: Voice, logs: Path) -> Iterator[None]:
    """Meanwhile show the logs in `logs`, if `voice` is verbose. Logs that grew large are put aside first."""
    for log in logs.glob("*.log"):
        if log.stat().st_size > _LARGE_LOG_BYTES:
            log.replace(log.with_suffix(".old"))
    with LogFollower(voice, logs) if voice.verbose else contextlib.nullcontext():
        yield


class LogFollower:
    """Shows what the processes write to their logs, as long as it is open."""

    def __init__(self, voice: Voice, folder: Path) -> None:
        self._voice = voice
        self._folder = folder
        self._open: dict[str, IO[str]] = {}
        # What earlier starts wrote is not shown again.
        self._skip = {log.name: log.stat().st_size for log in folder.glob("*.log")}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="logs", daemon=True)

    def __enter__(self) -> LogFollower:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        for log in self._open.values():
            log.close()

    def _follow(self) -> None:
        while not self._stop.wait(_LOOK_EVERY_S):
            self._show_new()
        self._show_new()

    def _show_new(self) -> None:
        for path in sorted(self._folder.glob("*.log")):
            if path.name not in self._open:
                self._open[path.name] = path.open(errors="replace")
                self._open[path.name].seek(self._skip.get(path.name, 0))
            for line in self._open[path.name]:
                self._show(path.stem, line.rstrip("\n"))

    def _show(self, name: str, line: str) -> None:
        color = _COLORS[sum(name.encode()) % len(_COLORS)]
        self._voice.console.print(Text(f"{name:>9} │ ", style=color) + Text(line), soft_wrap=True)
