"""`parley whoami` and `parley init`: the first steps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from parley.sdk.cli.ending import CANNOT, PANEL, plainly, say, tell, tell_json
from parley.sdk.cli.options import AsJson
from parley.sdk.harmless import one_line


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("init", rich_help_panel=PANEL)(init)
    app.command("whoami", rich_help_panel=PANEL)(whoami)


def init(
    file: Annotated[Path, typer.Argument(help="The file to write.")] = Path("tests.yaml"),
) -> None:
    """Write an example file of tests. A file that exists is left alone.

    Example:

      parley init tests.yaml
    """
    from parley.sdk.definitions.file import EXAMPLE

    with plainly():
        try:
            with file.open("x", encoding="utf-8") as new:
                new.write(EXAMPLE)
        except OSError as error:
            say(f"{file} cannot be written: {error.strerror}.")
            raise typer.Exit(CANNOT) from None
        tell(f"Wrote {file}. Next: name your gateway in it, then `parley tests push {file}`.")


def whoami(as_json: AsJson = False) -> None:
    """Tell which service is used, with whose key, and where both were found.

    Examples:

      parley whoami

      PARLEY_URL=https://parley.example PARLEY_API_KEY=sk-par-... parley whoami --json
    """
    with plainly():
        from parley.sdk import Client

        with Client() as client:
            me = client.account.whoami()
        if as_json:
            tell_json({"url": client.connection.url, **me.model_dump(mode="json")})
            return
        tell(f"service  {client.connection.url} (from {client.connection.source})")
        tell(f"account  {one_line(me.account_name)} {me.account_id}, plan {me.plan}")
        tell(f"key      {me.kind}, {', '.join(me.scopes) or 'no scopes'}")
