"""`parley gate`: may this go out?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from parley.sdk.cli.ending import PANEL, plainly
from parley.sdk.cli.gate_options import with_checks
from parley.sdk.cli.options import AsJson
from parley.sdk.cli.publish import EXIT_CODES, JUnitFile, MarkdownFile, publish

if TYPE_CHECKING:
    from pathlib import Path

    from parley.sdk import Client
    from parley.sdk.calls.evaluations import GateChecks


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("gate", rich_help_panel=PANEL)(gate)


@with_checks
def gate(
    run: Annotated[str, typer.Argument(help="Id of an evaluation, or of a dataset's run.", metavar="RUN")],
    *,
    checks: GateChecks,
    as_json: AsJson = False,
    junit: JUnitFile = None,
    markdown: MarkdownFile = None,
) -> None:
    """Ask whether an evaluation passes. Coverage has to be whole unless --min-coverage says otherwise.

    Exit code 0: passed. 1: failed. 2: it could not be decided. Under GitHub Actions it writes annotations
    and the job summary.

    Examples:

      parley gate 0199f0c4-0000-7000-8000-000000000000 --fail-under 7 --no-regression

      parley gate "$RUN" --fail-under 7 --record --caller github-actions --junit gate.xml
    """
    with plainly():
        from parley.sdk import Client

        with Client() as client:
            decide(client, run, checks, as_json=as_json, junit=junit, markdown=markdown)


def decide(
    client: Client,
    evaluation_id: str,
    checks: GateChecks,
    *,
    as_json: bool,
    junit: Path | None,
    markdown: Path | None,
) -> None:
    """Ask the gate, tell the answer, and end with its exit code."""
    from parley.sdk.reporting.sheet import of_evaluation

    answer = client.evaluations.gate(evaluation_id, **checks)
    evaluation = client.evaluations.get(evaluation_id)
    sheet = of_evaluation(evaluation, list(client.evaluations.results(evaluation_id)), answer)
    content = answer.model_dump(mode="json")
    publish(sheet, content, as_json=as_json, junit=junit, markdown=markdown)
    raise typer.Exit(EXIT_CODES[sheet.verdict])
