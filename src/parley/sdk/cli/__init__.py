"""The `parley` command. Operator commands come from whoever offers them in `parley.commands`."""

from __future__ import annotations

import importlib.metadata
import sys
from typing import Annotated, Any

import typer

from parley.sdk.cli import gate_command, run_command, start_commands, suites_commands, tests_commands
from parley.sdk.cli.ending import CANNOT
from parley.sdk.evals import command as evals_command

COMMANDS = "parley.commands"
"""Entry points of this group are Typer apps; their commands stand beside our own."""

_HELP = """Test conversational agents the way people use them.

Try [bold]parley dev --demo[/bold]: everything on this machine, with three demo tests.
"""


def main() -> None:
    """Run the command line of this process, and exit."""
    try:
        build_app()()
    except ModuleNotFoundError as error:
        # The commands are part of every installation, what they need is not.
        if (error.name or "").partition(".")[0] == "parley":
            raise
        sys.stderr.write(
            f"This command needs the server, and {error.name} is not installed: "
            "pip install 'parley-evals[local]' (or [server] without embedded databases).\n"
        )
        sys.exit(CANNOT)


def build_app() -> typer.Typer:
    """The whole command, with the commands of every installed part."""
    app = customers_app()
    for offered in importlib.metadata.entry_points(group=COMMANDS):
        part: Any = offered.load()
        app.add_typer(part)
    return app


def customers_app() -> typer.Typer:
    """The commands that need nothing of the server."""
    app = typer.Typer(
        help=_HELP,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def root(
        version: Annotated[
            bool,
            typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
        ] = False,
    ) -> None:
        pass

    start_commands.register(app)
    run_command.register(app)
    tests_commands.register(app)
    suites_commands.register(app)
    gate_command.register(app)
    evals_command.register(app)
    return app


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"parley {importlib.metadata.version('parley-evals')}")
        raise typer.Exit
