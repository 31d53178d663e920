"""`parley suites`: run a set of cases, and decide."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parley.sdk.cli.ending import PANEL, plainly, say, tell, tell_json
from parley.sdk.cli.gate_command import decide
from parley.sdk.cli.gate_options import has_checks, with_checks
from parley.sdk.cli.options import AsJson
from parley.sdk.cli.publish import EXIT_CODES, JUnitFile, MarkdownFile, publish
from parley.sdk.harmless import one_line

if TYPE_CHECKING:
    from parley.sdk import Client
    from parley.sdk.calls.evaluations import GateChecks, SuiteOptions
    from parley.sdk.verdicts import Evaluation

suites = typer.Typer(no_args_is_help=True, help="Keep suites in files, run them, list them.")

_LOOK_EVERY_S = 1.0


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(suites, name="suites", rich_help_panel=PANEL)


@suites.command("list")
def list_suites(as_json: AsJson = False) -> None:
    """List the suites, newest first.

    Example:

      parley suites list
    """
    with plainly():
        from parley.sdk import Client

        with Client() as client:
            found = list(client.suites.list())
        if as_json:
            tell_json([suite.model_dump(mode="json") for suite in found])
            return
        for suite in found:
            tell(f"{suite.id}  {one_line(suite.name)}")


@suites.command("push")
def push_suite(
    file: Annotated[
        Path, typer.Argument(help="YAML or JSON: the suite as the API takes it.", metavar="FILE")
    ],
    as_json: AsJson = False,
) -> None:
    """Make the suite that a file describes, or bring the one of its name up to date.

    The file holds `name`, and `script` or `cases` or both; what it leaves out stays as it is.

    Exit code 0: the service holds what the file says. 2: refused; every fault is named.

    Example:

      parley suites push refunds.yaml
    """
    with plainly():
        from parley.sdk import Client
        from parley.sdk.definitions.suite_file import read_suite_file
        from parley.sdk.naming import the_one

        body = read_suite_file(file)
        with Client() as client:
            known = [one for one in client.suites.list() if one.name == body["name"]]
            if known:
                suite = client.suites.change(the_one("suite", body["name"], known).id, body)
            else:
                suite = client.suites.create(body)
        if as_json:
            tell_json(suite.model_dump(mode="json"))
            return
        tell(f"{'changed' if known else 'made'} {one_line(suite.name)}  {suite.id}")


@suites.command("run")
@with_checks
def run_suite(
    suite: Annotated[str, typer.Argument(help="Id or name of the suite.", metavar="SUITE")],
    split: Annotated[str | None, typer.Option(help="Only the cases of this split.")] = None,
    case: Annotated[list[str] | None, typer.Option(help="Only this case; may be given again.")] = None,
    judge: Annotated[str | None, typer.Option(help="Who judges scripted cases: service or app.")] = None,
    repetitions: Annotated[int | None, typer.Option(help="Runs of each case.", min=1)] = None,
    concurrency: Annotated[int | None, typer.Option(help="Cases at once.", min=1)] = None,
    gateway: Annotated[str | None, typer.Option(help="Another gateway than the tests name.")] = None,
    budget_usd: Annotated[
        float | None, typer.Option(help="Start nothing more when this is spent.", min=0)
    ] = None,
    *,
    checks: GateChecks,
    as_json: AsJson = False,
    junit: JUnitFile = None,
    markdown: MarkdownFile = None,
) -> None:
    """Run a suite, wait for its end, and decide: by the checks, or, without any, all have to pass.

    Exit code 0: passed. 1: failed. 2: it could not be decided. 130: Ctrl-C, which cancels the evaluation.

    Examples:

      parley suites run "Returns" --repetitions 3 --min-pass-rate 0.9

      parley suites run "Returns" --split smoke --no-regression --junit suite.xml
    """
    with plainly():
        from parley.sdk import Client

        chosen: SuiteOptions = _chosen(
            split=split,
            cases=case or None,
            judge=judge,
            repetitions=repetitions,
            concurrency=concurrency,
            gateway=gateway,
            budget_usd=budget_usd,
        )
        with Client() as client:
            evaluation = _carried_out(client, suite, chosen)
            if has_checks(checks) and evaluation.state == "completed":
                decide(client, evaluation.id, checks, as_json=as_json, junit=junit, markdown=markdown)
            _tell(client, evaluation, as_json=as_json, junit=junit, markdown=markdown)


def _chosen(**values: object) -> SuiteOptions:
    """The options that were given, and where the code under test comes from."""
    from typing import cast

    from parley.sdk.ci import origin

    told = origin(os.environ)
    named = values | {"commit": told.commit, "branch": told.branch}
    return cast("SuiteOptions", {name: value for name, value in named.items() if value is not None})


def _carried_out(client: Client, reference: str, chosen: SuiteOptions) -> Evaluation:
    """The evaluation, when it has ended. One that is interrupted is cancelled."""
    from parley.sdk.naming import is_id, the_one

    suite_id = reference if is_id(reference) else the_one("suite", reference, client.suites.list()).id
    evaluation = client.suites.start(suite_id, **chosen)
    say(f"Evaluation {evaluation.id}")
    try:
        while not evaluation.is_over:
            time.sleep(_LOOK_EVERY_S)
            evaluation = client.evaluations.get(evaluation.id)
    except KeyboardInterrupt:
        client.evaluations.cancel(evaluation.id)
        say(f"Cancelled evaluation {evaluation.id}.")
        raise
    return evaluation


def _tell(
    client: Client, evaluation: Evaluation, *, as_json: bool, junit: Path | None, markdown: Path | None
) -> None:
    from parley.sdk.reporting.sheet import of_evaluation

    sheet = of_evaluation(evaluation, list(client.evaluations.results(evaluation.id)))
    content = {**evaluation.model_dump(mode="json"), "verdict": sheet.verdict}
    publish(sheet, content, as_json=as_json, junit=junit, markdown=markdown)
    raise typer.Exit(EXIT_CODES[sheet.verdict])
