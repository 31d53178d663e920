"""Commands for the keys that seal customers' secrets."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from parley.server.ops.plain_errors import plainly

secrets = typer.Typer(no_args_is_help=True, help="Rotate the keys that seal customers' secrets.")


@secrets.command("reseal")
def reseal(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count what an older key still seals; change nothing.")
    ] = False,
) -> None:
    """Seal everything again with the first of PARLEY_SECRET_KEYS. Safe to cut, and to run beside the service.

    Exit code 1 if something is sealed with a key that is not given; it is left as it is.

    Examples:

      parley secrets reseal --dry-run

      PARLEY_SECRET_KEYS=NEW,OLD parley secrets reseal
    """
    with plainly():
        if not asyncio.run(_reseal(dry_run)):
            raise typer.Exit(1)


async def _reseal(dry_run: bool) -> bool:
    """Print what was done. Whether every secret could be opened."""
    from parley.server.config import DatabaseSettings, SecretSettings
    from parley.server.db.database import Database
    from parley.server.kit.crypto import Keyring
    from parley.server.ops.reseal import lines_of
    from parley.server.ops.reseal import reseal as reseal_all

    database = Database(DatabaseSettings().url.get_secret_value())
    try:
        keyring = Keyring(SecretSettings().revealed())
        found = [one async for one in reseal_all(database, keyring, dry_run=dry_run)]
    finally:
        await database.close()
    for line in lines_of(found):
        typer.echo(line)
    lost = [fault for one in found for fault in one.lost]
    for fault in lost:
        typer.echo(fault, err=True)
    return not lost
