"""How far an evaluation is, for whoever waits for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID


class Progress(Protocol):
    """Is told how things go."""

    def answered(self) -> None:
        """One more case has its answer."""

    def scoring(self) -> None:
        """All answers are in; the judge is at work."""


class Quiet:
    """Says nothing."""

    def answered(self) -> None:
        """Nothing."""

    def scoring(self) -> None:
        """Nothing."""


@contextmanager
def showing(total: int, label: str, wanted: bool | None) -> Iterator[Progress]:
    """A bar on stderr; without `wanted` being said, only where stderr is a terminal."""
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        yield Quiet()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        yield _Bar(bars, bars.add_task(label, total=total))


class _Bar:
    """A bar of rich."""

    def __init__(self, bars: Bars, task: TaskID) -> None:
        self._bars = bars
        self._task = task

    def answered(self) -> None:
        self._bars.advance(self._task)

    def scoring(self) -> None:
        self._bars.update(self._task, description="waiting for scores")
