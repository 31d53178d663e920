"""What was found, beside what is wanted."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

_HEAD = ("measure", "case", "ours", "bare client", "result", "target", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table. `result` is compared with `target`, the most it may be; None has none.

    `beside` tells what else belongs to the line: figures of the servers around, single rounds.
    """

    measure: str
    case: str
    result: float
    unit: str
    target: float | None = None
    ours: str = ""
    floor: str = ""
    beside: dict[str, Any] = field(default_factory=dict)

    @property
    def is_met(self) -> bool | None:
        """Whether the target is reached, as the figure is shown: rounded."""
        return None if self.target is None else float(_shown(self.result)) <= self.target

    def cells(self) -> tuple[str, ...]:
        """The line as texts."""
        target = "" if self.target is None else f"<= {self.target:g}"
        mark = {True: "met", False: "MISSED", None: ""}[self.is_met]
        return (
            self.measure,
            self.case,
            self.ours,
            self.floor,
            f"{_shown(self.result)} {self.unit}",
            target,
            mark,
        )


def _shown(number: float) -> str:
    return f"{number:.2f}" if abs(number) < 10 else f"{number:.0f}"


def table(figures: list[Figure]) -> str:
    """All lines, and what is to be known beside them."""
    rows = [_HEAD, *(figure.cells() for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    beside = [
        f"  {figure.measure}, {figure.case}: " + ", ".join(f"{name} {told}" for name, told in about.items())
        for figure in figures
        if (about := figure.beside)
    ]
    return "\n".join([*(line.rstrip() for line in lines), "", "Beside:", *beside])


def write_json(path: Path, figures: list[Figure], about: dict[str, Any]) -> None:
    """Write everything found to a file."""
    lines = [{**asdict(figure), "is_met": figure.is_met} for figure in figures]
    path.write_text(json.dumps({**about, "figures": lines}, indent=2) + "\n")
