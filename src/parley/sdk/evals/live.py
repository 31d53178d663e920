"""A run in the terminal while it goes on: what is being played, and a line for everything that ended."""

from __future__ import annotations

from types import TracebackType
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from parley.engine.script.progress import Progress
from parley.engine.script.record import AttemptRecord
from parley.sdk.evals.telling import name_of, reasons
from parley.sdk.harmless import harmless, one_line

_MARKS: Final[dict[str, tuple[str, str]]] = {
    "passed": ("✓", "green"),
    "failed": ("✗", "red"),
    "error": ("!", "bold red"),
    "cancelled": ("-", "yellow"),
    "inconclusive": ("?", "yellow"),
    "ungraded": ("…", "yellow"),
}


class LiveRun:
    """Shows progress events. On a terminal the attempts under way stand below, each with its phase."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._under_way: dict[str, tuple[AttemptRecord, str]] = {}
        self._live = (
            Live(console=console, transient=True, refresh_per_second=8) if console.is_terminal else None
        )

    def __enter__(self) -> LiveRun:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def hear(self, event: Progress) -> None:
        """One event."""
        if event.attempt is None:
            return
        has_ended = event.type == "case-completed"
        self._note(event.attempt, event.phase, has_ended)
        if self._live:
            self._live.update(self._table())
        if has_ended:
            self._ended(event.attempt)

    def _note(self, attempt: AttemptRecord, phase: str | None, has_ended: bool) -> None:
        before = self._under_way.pop(attempt.attempt_id, (attempt, "begins"))
        if not has_ended:
            self._under_way[attempt.attempt_id] = (attempt, phase or before[1])

    def _ended(self, attempt: AttemptRecord) -> None:
        mark, style = _MARKS[attempt.status]
        seconds = attempt.duration_ms / 1000
        name = escape(one_line(f"{attempt.suite_id}/{name_of(attempt)}"))
        self._console.print(
            f"[{style}]{mark} {attempt.status}[/] {name} [dim]{seconds:.1f} s[/]", highlight=False
        )
        for reason in reasons(attempt):
            self._console.print(f"    {escape(harmless(reason))}", highlight=False, style="dim")

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 2))
        for attempt, phase in self._under_way.values():
            step = f"step {min(len(attempt.steps) + 1, attempt.steps_planned)}/{attempt.steps_planned}"
            table.add_row("…", escape(one_line(name_of(attempt))), step, phase)
        return table
