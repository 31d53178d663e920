"""GitHub Actions: annotations and the job summary."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from parley.sdk.reporting.markdown import markdown
from parley.sdk.reporting.sheet import Sheet

_CONTROL = re.compile(r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
MOST = 10
"""Annotations of one kind that GitHub shows for a step."""


def is_github(environment: Mapping[str, str]) -> bool:
    """Whether this runs in GitHub Actions."""
    return environment.get("GITHUB_ACTIONS") == "true"


def commands(sheet: Sheet) -> Iterator[str]:
    """Commands to the runner: the checks that do not hold, then the cases that did not pass."""
    faults = [(f"gate: {one.name}", one.text) for one in sheet.checks if one.passed is False]
    faults += [(line.name, line.text) for line in sheet.lines if line.mark != "passed"]
    for title, text in faults[:MOST]:
        yield _command(
            "error" if sheet.verdict == "failed" else "warning", f"parley: {title}", text or sheet.verdict
        )


def write_summary(sheet: Sheet, environment: Mapping[str, str]) -> None:
    """Add to the job summary, where there is one."""
    if path := environment.get("GITHUB_STEP_SUMMARY"):
        with Path(path).open("a", encoding="utf-8") as summary:
            summary.write(markdown(sheet) + "\n")


def _command(kind: str, title: str, text: str) -> str:
    escaped = _escaped(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={escaped}::{_escaped(text)}"


def _escaped(text: str) -> str:
    return _CONTROL.sub("", text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
