"""A usage report as CSV, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from typing import Final

from parley.server.billing.schemas import UsageLine, UsageReport

COLUMNS: Final = (
    "day",
    "role",
    "model",
    "test_id",
    "test_name",
    "inferences",
    "estimated",
    "prompt_tokens",
    "cached_prompt_tokens",
    "completion_tokens",
    "cost",
)
_FORMULA_STARTS: Final = ("=", "+", "-", "@")


def usage_csv(report: UsageReport) -> str:
    """One line for each of the report's, under a line of names. Costs are US dollars, 9 places."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for line in report.lines:
        writer.writerow([quoted(cell) for cell in _cells(line)])
    return out.getvalue()


def quoted(cell: str) -> str:
    """`cell` so that no spreadsheet takes it for a formula: an apostrophe in front makes it text.

    Spreadsheets skip white space before they look.
    """
    return f"'{cell}" if cell.lstrip().startswith(_FORMULA_STARTS) else cell


def _cells(line: UsageLine) -> list[str]:
    return [
        line.day.isoformat() if line.day else "",
        line.role or "",
        line.model or "",
        str(line.test_id or ""),
        line.test_name or "",
        str(line.inferences),
        str(line.estimated),
        str(line.prompt_tokens),
        str(line.cached_prompt_tokens),
        str(line.completion_tokens),
        f"{line.cost:.9f}",
    ]
