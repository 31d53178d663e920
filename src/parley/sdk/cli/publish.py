"""Where a report goes: the terminal or JSON, files, and GitHub's pages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from parley.sdk.cli.ending import CANNOT, FAILED, PASSED, say, tell_json

if TYPE_CHECKING:
    from parley.sdk.reporting.sheet import Sheet

JUnitFile: TypeAlias = Annotated[
    Path | None, typer.Option("--junit", help="Write JUnit XML to this file.", metavar="FILE")
]
MarkdownFile: TypeAlias = Annotated[
    Path | None, typer.Option("--markdown", help="Write Markdown to this file.", metavar="FILE")
]

EXIT_CODES = {"passed": PASSED, "failed": FAILED, "inconclusive": CANNOT}


def publish(
    sheet: Sheet, content: dict[str, Any], *, as_json: bool, junit: Path | None, markdown: Path | None
) -> None:
    """Tell a report everywhere it was asked for; under GitHub Actions in annotations and the summary too."""
    if as_json:
        tell_json(content)
    else:
        _draw(sheet)
    publish_aside(sheet, junit=junit, markdown=markdown)


def publish_aside(sheet: Sheet, *, junit: Path | None, markdown: Path | None) -> None:
    """Everywhere but on stdout."""
    _write_files(sheet, junit, markdown)
    _tell_github(sheet)


def _draw(sheet: Sheet) -> None:
    from rich.console import Console

    from parley.sdk.reporting.table import drawn

    Console(highlight=False).print(drawn(sheet))


def _write_files(sheet: Sheet, junit: Path | None, markdown: Path | None) -> None:
    from parley.sdk.reporting import junit as junit_form
    from parley.sdk.reporting import markdown as markdown_form

    if junit is not None:
        _write(junit, junit_form.junit(sheet))
    if markdown is not None:
        _write(markdown, markdown_form.markdown(sheet))


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        say(f"{path} cannot be written: {error.strerror}.")
        raise typer.Exit(CANNOT) from None


def _tell_github(sheet: Sheet) -> None:
    """The runner reads commands on stderr too, where they are out of the way of JSON."""
    from parley.sdk.reporting import github

    if github.is_github(os.environ):
        for line in github.commands(sheet):
            typer.echo(line, err=True)
        github.write_summary(sheet, os.environ)
