"""A report in the terminal."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from parley.sdk.harmless import one_line
from parley.sdk.reporting.sheet import Sheet, of_evaluation

if TYPE_CHECKING:
    from parley.sdk.evaluating.report import Report

_MARKS = {"passed": ("✓", "green"), "failed": ("✗", "red"), "error": ("!", "yellow")}
_CHECKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("?", "yellow")}
_VERDICTS = {"passed": "bold green", "failed": "bold red", "inconclusive": "bold yellow"}
_LONGEST = 160
"""Characters of a reason; the whole one is in JSON and JUnit."""


def drawn(sheet: Sheet) -> Group:
    """The table, the checks, the verdict."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name, justify in (
        ("", "left"),
        ("case", "left"),
        ("rating", "right"),
        ("s", "right"),
        ("why", "left"),
    ):
        table.add_column(name, justify="right" if justify == "right" else "left", overflow="fold")
    for line in sheet.lines:
        mark, style = _MARKS[line.mark]
        table.add_row(
            Text(mark, style=style),
            _clean(line.name),
            "-" if line.rating is None else f"{line.rating:.1f}",
            "-" if line.seconds is None else f"{line.seconds:.1f}",
            Text("") if line.mark == "passed" else _clean(line.text),
        )
    checks = [_check(check.passed, f"{check.name}: {check.text}") for check in sheet.checks]
    note = [Text(one_line(sheet.note), style="dim")] if sheet.note else []
    verdict = Text(f"{one_line(sheet.title)}: {sheet.verdict}", style=_VERDICTS[sheet.verdict])
    return Group(table, *checks, *note, verdict)


def plain(report: Report) -> str:
    """The table of a report as text."""
    page = io.StringIO()
    console = Console(file=page, width=120, color_system=None)
    console.print(drawn(of_evaluation(report.evaluation, report.results)))
    told = report.evaluation.statistics
    if told is not None:
        rate = "-" if report.pass_rate is None else f"{report.pass_rate:.0%}"
        mean = "-" if told.average_rating is None else f"{told.average_rating:.2f}"
        console.print(
            f"mean rating {mean}, pass rate {rate}, {told.rated_count} rated, {told.failed_count} failed, "
            f"{told.skipped_count} skipped of {told.expected_count}"
        )
    for one in report.refused:
        console.print(
            one_line(f"not taken: {one.get('idempotencyKey')}: {one.get('problems')}"), markup=False
        )
    return page.getvalue().rstrip("\n")


def _check(passed: bool | None, text: str) -> Text:
    mark, style = _CHECKS[passed]
    return Text(f"{mark} {one_line(text)}", style=style)


def _clean(text: str) -> Text:
    """On one line, cut, and unable to steer the terminal."""
    one = one_line(text)
    return Text(one if len(one) <= _LONGEST else one[: _LONGEST - 1] + "…")
