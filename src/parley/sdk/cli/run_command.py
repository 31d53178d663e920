"""`parley run`: one run of one test, to its end."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Annotated

import typer

from parley.sdk.cli.ending import CANNOT, FAILED, PANEL, PASSED, plainly, say, tell, tell_json
from parley.sdk.cli.options import AsJson
from parley.sdk.cli.publish import JUnitFile, MarkdownFile, publish_aside
from parley.sdk.harmless import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from parley.sdk import Client
    from parley.sdk.answers import AgenticTestLine, Run, RunDetail
    from parley.sdk.events import Told


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run", rich_help_panel=PANEL)(run_test)


def run_test(
    test: Annotated[str, typer.Argument(help="Id or name of the test.", metavar="TEST")],
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Show the conversation while it is held.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(help="Draws of the simulated user; without it the test's own.", min=0)
    ] = None,
    as_json: AsJson = False,
    junit: JUnitFile = None,
    markdown: MarkdownFile = None,
) -> None:
    """Run a test and wait for its verdict. Ctrl-C cancels the run.

    Exit code 0: success. 1: loss, incomplete, or the run failed. 2: it could not be decided. 130: Ctrl-C.

    Examples:

      parley run "A return is free" --watch

      parley run 0199f0c4-0000-7000-8000-000000000000 --json | jq .outcome
    """
    with plainly():
        from parley.sdk import Client
        from parley.sdk.reporting.sheet import of_run
        from parley.sdk.trials import find_test

        with Client() as client:
            run = _carried_out(client, find_test(client, test), seed, watch, as_json)
        _tell(run, as_json)
        publish_aside(of_run(run), junit=junit, markdown=markdown)
        raise typer.Exit(_exit_code(run))


def _carried_out(
    client: Client, test: AgenticTestLine, seed: int | None, watch: bool, as_json: bool
) -> RunDetail:
    """The run, when it has ended. One that is interrupted is cancelled."""
    show = _shown_on(as_json) if watch else _unseen
    key = str(uuid.uuid4())
    try:
        started = client.runs.start(test.id, seed=seed, idempotency_key=key)
        for event in client.runs.events(test.id, started.id):
            show(event.data)
    except KeyboardInterrupt:
        # The answer to the start may be lost; asked under the same key, the service tells the same run.
        _cancel(client, client.runs.start(test.id, seed=seed, idempotency_key=key))
        raise
    return client.runs.get(test.id, started.id)


def _cancel(client: Client, run: Run) -> None:
    left = client.runs.cancel(run.test_id, run.id)
    over = f"Run {run.id} had already ended." if left.state in ("succeeded", "failed") else ""
    say(over or f"Cancelled run {run.id}.")


def _shown_on(as_json: bool) -> Callable[[Told], None]:
    """Shows the conversation, out of the way of JSON."""
    from rich.console import Console

    from parley.sdk.cli.live import Live

    return Live(Console(stderr=as_json, highlight=False)).show


def _unseen(_: Told) -> None:
    """Nobody watches."""


def _tell(run: RunDetail, as_json: bool) -> None:
    if as_json:
        tell_json(run.model_dump(mode="json"))
        return
    score = "" if run.score is None else f" score {run.score:.3f}"
    fault = f" {run.error.message}" if run.error else ""
    tell(one_line(f"{run.outcome or run.state}{score} ${run.cost:.6f} {run.test_name} {run.id}{fault}"))


def _exit_code(run: Run) -> int:
    """A run that somebody else cancelled says nothing about the agent."""
    if run.state == "cancelled":
        return CANNOT
    return PASSED if run.outcome == "success" and run.state == "succeeded" else FAILED
