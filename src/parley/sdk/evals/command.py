"""`parley evals`: list and run the scripted suites of an app, in its own process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from parley.sdk.cli.ending import FAILED, INTERRUPTED, PANEL, PASSED, plainly, say, tell, tell_json
from parley.sdk.cli.options import AsJson
from parley.sdk.cli.publish import JUnitFile, MarkdownFile, publish_aside

if TYPE_CHECKING:
    from parley.engine.script.record import RunRecord
    from parley.sdk.evals.evals import Evals

evals = typer.Typer(no_args_is_help=True, help="Play scripted suites against your own code.")

Entry: TypeAlias = Annotated[
    str, typer.Option(help="Your Evals as module:name.", metavar="MODULE:NAME", envvar="PARLEY_EVALS")
]
EnvFiles: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--env-file", help="Set what this file names; what is set stays. May be repeated.", metavar="FILE"
    ),
]
Records: TypeAlias = Annotated[
    Path, typer.Argument(help="What `parley evals run --json` wrote.", metavar="FILE", exists=True)
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(evals, name="evals", rich_help_panel=PANEL)


@evals.command("list")
def list_evals(entry: Entry, env_file: EnvFiles = None, as_json: AsJson = False) -> None:
    """List suites and cases. Calls nothing of the app but its import.

    Example:

      parley evals list --entry app.evals:evals
    """
    with plainly():
        found = _loaded(entry, env_file)
        if as_json:
            tell_json(found.describe())
            return
        for suite in found.list_suites():
            tell(suite.id + (f"  {suite.name}" if suite.name else ""))
            for case in suite.cases:
                marks = f"  [{', '.join(case.splits)}]" if case.splits else ""
                tell(f"  {case.id}  {len(case.steps)} step(s){marks}")


@evals.command("run")
def run_evals(
    entry: Entry,
    suite: Annotated[list[str] | None, typer.Option(help="Only this suite. May be repeated.")] = None,
    case: Annotated[list[str] | None, typer.Option(help="Only this case. May be repeated.")] = None,
    split: Annotated[str | None, typer.Option(help="Only the cases of this split.")] = None,
    repetitions: Annotated[
        int | None, typer.Option(help="Attempts at each case; without it the case's own.", min=1, max=100)
    ] = None,
    concurrency: Annotated[int, typer.Option(help="Attempts at once.", min=1, max=100)] = 4,
    judge: Annotated[
        str | None, typer.Option(help="Who judges: app or service.", metavar="app|service")
    ] = None,
    env_file: EnvFiles = None,
    as_json: AsJson = False,
    junit: JUnitFile = None,
    markdown: MarkdownFile = None,
    upload: Annotated[
        bool, typer.Option("--upload", help="Keep each run at the service as an evaluation.")
    ] = False,
) -> None:
    """Run suites and show what happens. Ctrl-C stops, cleans up, and keeps what there is.

    Exit code 0: all passed. 1: anything else. 2: it cannot be run as asked. 130: Ctrl-C.

    Examples:

      parley evals run --entry app.evals:evals --suite refunds

      parley evals run --entry app.evals:evals --split smoke --repetitions 3 --json | jq .[0].counts

      parley evals run --entry app.evals:evals --judge service --upload
    """
    with plainly():
        from parley.sdk.evals.telling import sheet_of
        from parley.sdk.evals.terminal_run import Choice, run_all

        choice = Choice(
            suites=suite,
            cases=case,
            split=split,
            repetitions=repetitions,
            concurrency=concurrency,
            judge=judge,
        )
        outcome = run_all(_loaded(entry, env_file), choice, to_stderr=as_json)
        if as_json:
            tell_json([record.wire() for record in outcome.records])
        publish_aside(sheet_of(outcome.records), junit=junit, markdown=markdown)
        if upload:
            _send(outcome.records)
        raise typer.Exit(INTERRUPTED if outcome.interrupted else _exit_code(outcome.records))


@evals.command("grade")
def grade_evals(
    file: Records,
    output: Annotated[
        Path | None, typer.Option(help="Write the graded records here; without it to FILE.", metavar="FILE")
    ] = None,
    tool_visibility: Annotated[
        str, typer.Option(help="As the run was played.", metavar="none|reported|full")
    ] = "full",
) -> None:
    """Let the service grade what stayed ungraded in kept records. Plays nothing again.

    Exit code 0: all passed now. 1: anything else. 2: it cannot be graded.

    Example:

      parley evals grade records.json
    """
    with plainly():
        from parley.sdk.evals.kept_records import graded, read_records, write_records

        records = graded(read_records(file), tool_visibility)
        write_records(output or file, records)
        _summarize(records)
        raise typer.Exit(_exit_code(records))


@evals.command("upload")
def upload_evals(file: Records) -> None:
    """Keep the runs of a file at the service, each as an evaluation; sent again, each is kept once.

    Example:

      parley evals upload records.json
    """
    with plainly():
        from parley.sdk.evals.kept_records import read_records

        _send(read_records(file))


def _send(records: list[RunRecord]) -> None:
    import asyncio

    from parley.sdk.evals.upload import upload_run

    for record in records:
        kept = asyncio.run(upload_run(record))
        say(f"{record.suite_id}: kept as evaluation {kept.evaluation_id}")


def _summarize(records: list[RunRecord]) -> None:
    from parley.sdk.evals.telling import summary

    for record in records:
        say(summary(record))


def _loaded(entry: str, env_files: list[Path] | None) -> Evals:
    from parley.sdk.evals.loading import load_env_file, load_evals

    for path in env_files or ():
        load_env_file(path)
    return load_evals(entry)


def _exit_code(records: list[RunRecord]) -> int:
    return PASSED if all(record.status == "passed" for record in records) else FAILED
