"""`parley tests`: definitions as code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from parley.sdk.cli.ending import CANNOT, FAILED, PANEL, PASSED, plainly, say, tell, tell_json
from parley.sdk.cli.options import AsJson
from parley.sdk.harmless import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parley.sdk.definitions.changes import Change

tests = typer.Typer(no_args_is_help=True, help="Keep tests in a file: push, pull, diff, list.")

TestsFile: TypeAlias = Annotated[Path, typer.Argument(help="The YAML file.", metavar="FILE")]
Prune: TypeAlias = Annotated[
    bool, typer.Option("--prune", help="Also delete tests that are not in the file.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(tests, name="tests", rich_help_panel=PANEL)


@tests.command("list")
def list_tests(
    search: Annotated[str | None, typer.Option(help="Part of the name.")] = None, as_json: AsJson = False
) -> None:
    """List the tests, newest first: id, the last run's outcome, name.

    Example:

      parley tests list --search return
    """
    with plainly():
        from parley.sdk import Client

        with Client() as client:
            found = list(client.tests.list(search=search))
        if as_json:
            tell_json([test.model_dump(mode="json") for test in found])
            return
        for test in found:
            last = test.latest_run
            tell(f"{test.id}  {(last.outcome or last.state) if last else '-':<11}  {one_line(test.name)}")


@tests.command()
def diff(file: TestsFile, prune: Prune = False, as_json: AsJson = False) -> None:
    """Show what a push would change. Nothing is changed.

    Exit code 0: nothing would change. 1: something would. 2: the service refuses the file.

    Example:

      parley tests diff tests.yaml
    """
    with plainly():
        changes = _planned(file, prune)
        _show(changes, as_json)
        raise typer.Exit(FAILED if _is_something(changes) else PASSED)


@tests.command()
def push(
    file: TestsFile,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Make the changes that are shown.")] = False,
    prune: Prune = False,
    as_json: AsJson = False,
) -> None:
    """Show what the file changes, and with --yes change it. Tests are told by name.

    All tests are checked by the service before the first is changed. Fields that the file leaves out stay
    as they are; tests that it leaves out stay, unless --prune is given.

    Exit code 0: the service holds what the file says. 1: changes are waiting for --yes. 2: refused.

    Examples:

      parley tests push tests.yaml

      parley tests push tests.yaml --yes --prune
    """
    with plainly():
        from parley.sdk import Client
        from parley.sdk.definitions.sync import applied

        changes = _planned(file, prune)
        _show(changes, as_json)
        if not _is_something(changes):
            return
        if not yes:
            say("Nothing was changed; add --yes to do it.")
            raise typer.Exit(FAILED)
        with Client() as client:
            for change in applied(client, changes):
                say(f"{_DONE[change.kind]} {one_line(change.name)}")


@tests.command()
def pull(
    file: TestsFile,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Replace a file that exists.")] = False,
) -> None:
    """Write the service's tests to a file; what is default is left out. `-` writes to stdout.

    Example:

      parley tests pull tests.yaml
    """
    with plainly():
        from parley.sdk import Client
        from parley.sdk.definitions.file import written
        from parley.sdk.definitions.sync import pulled

        if not yes and str(file) != "-" and file.exists():
            say(f"{file} exists; add --yes to replace it.")
            raise typer.Exit(CANNOT)
        with Client() as client:
            found = pulled(client)
        _write(file, written(found))
        say(f"{len(found)} tests.")


_DONE = {"create": "Created", "change": "Changed", "delete": "Deleted", "same": "Kept"}


def _planned(file: Path, prune: bool) -> list[Change]:
    from parley.sdk import Client
    from parley.sdk.definitions.file import read_tests
    from parley.sdk.definitions.sync import planned

    wanted = read_tests(file)
    with Client() as client:
        return planned(client, wanted, prune=prune)


def _show(changes: Sequence[Change], as_json: bool) -> None:
    from parley.sdk.definitions.changes import lines

    if as_json:
        tell_json([change.told() for change in changes])
        return
    for line in lines(changes):
        tell(line)


def _is_something(changes: Sequence[Change]) -> bool:
    return any(change.kind != "same" for change in changes)


def _write(file: Path, text: str) -> None:
    from parley.sdk.definitions.yaml import UnreadableFile

    if str(file) == "-":
        sys.stdout.write(text)
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UnreadableFile(f"{file} cannot be written: {error.strerror}.") from error
