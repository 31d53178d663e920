"""Markdown for pull requests and job summaries. What others wrote is shown, never rendered. Pure."""

from __future__ import annotations

import re

from parley.sdk.reporting.sheet import Line, Sheet

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+.!|~>@:-])")
_CALLING = re.compile(r"([@#])")
"""GitHub looks for names and numbers behind these after it has unescaped the text."""
_SPACE = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]+")
_MARKS = {"passed": "✅", "failed": "❌", "error": "⚠️"}
_CHECKS = {True: "✅", False: "❌", None: "❔"}
_VERDICTS = {"passed": "✅ passed", "failed": "❌ failed", "inconclusive": "❔ inconclusive"}
MOST_LINES = 50
"""Cases that are shown; those that did not pass go first."""
_LONGEST = 300
"""Characters of a reason."""


def markdown(sheet: Sheet) -> str:
    """A heading, the checks, the cases."""
    parts = [f"### {_VERDICTS[sheet.verdict]}: {_plain(sheet.title)}", ""]
    if sheet.checks:
        parts += ["| | check | |", "|---|---|---|"]
        parts += [
            f"| {_CHECKS[one.passed]} | {_plain(one.name)} | {_plain(one.text)} |" for one in sheet.checks
        ]
        parts += [""]
    if sheet.note:
        parts += [_plain(sheet.note), ""]
    shown = sorted(sheet.lines, key=lambda line: line.mark == "passed")[:MOST_LINES]
    if shown:
        parts += ["| | case | rating | why |", "|---|---|---|---|", *(_row(line) for line in shown), ""]
    if len(sheet.lines) > len(shown):
        parts += [f"{len(sheet.lines) - len(shown)} more are not shown.", ""]
    return "\n".join(parts)


def _row(line: Line) -> str:
    rating = "" if line.rating is None else f"{line.rating:.1f}"
    why = "" if line.mark == "passed" else _plain(line.text)
    return f"| {_MARKS[line.mark]} | {_plain(line.name)} | {rating} | {why} |"


def _plain(text: str) -> str:
    """Text on one line in which nothing is markup, a link, a picture or a name that is called."""
    one = _SPACE.sub(" ", text).strip()
    cut = one if len(one) <= _LONGEST else one[: _LONGEST - 1] + "…"
    bare = cut.replace("&", "&amp;").replace("<", "&lt;")
    return _CALLING.sub("\\1\N{ZERO WIDTH SPACE}", _SPECIAL.sub(r"\\\1", bare))
