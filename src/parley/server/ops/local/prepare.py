"""`python -m parley.server.ops.local.prepare [FILE]`: database, tables, and the first account into FILE."""

from __future__ import annotations

import asyncio
import sys
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from parley.server.config import DatabaseSettings
from parley.server.db.database import plain_url
from parley.server.db.migrate import upgrade
from parley.server.ops.accounts import make_account
from parley.server.ops.local.errors import LocalStackError
from parley.server.ops.local.home import write_private
from parley.server.ops.plain_errors import sentence_of

CREDIT_USD = Decimal(1000)
"""Enough to play for a long time, on a machine where money means nothing."""


def prepare(url: str, account_file: Path | None) -> None:
    """Bring the database up to date; with `account_file` make an account and write its id and keys there."""
    asyncio.run(_make_database(plain_url(url)))
    upgrade(url)
    if account_file is not None:
        made = asyncio.run(make_account("Local", "max", CREDIT_USD))
        write_private(
            account_file,
            {
                "account_id": str(made.account_id),
                "private_key": made.private_key,
                "public_key": made.public_key,
            },
        )


async def _make_database(url: str) -> None:
    """Create the database named in `url` on its server, if the server is there and the database is not.

    Raises `LocalStackError`.
    """
    parts = urlsplit(url)
    try:
        try:
            connection = await asyncpg.connect(url, timeout=10)
        except asyncpg.InvalidCatalogNameError:
            name = parts.path.removeprefix("/").replace('"', '""')
            connection = await asyncpg.connect(parts._replace(path="/postgres").geturl(), timeout=10)
            await connection.execute(f'CREATE DATABASE "{name}"')
        await connection.close()
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        where = f"{parts.hostname}:{parts.port or 5432}"
        raise LocalStackError(
            f"The database at {where} cannot be used: {str(error).rstrip('.') or 'no answer'}."
        ) from error


def main() -> None:
    """Prepare the database of the settings; an expected fault is one sentence and exit code 1."""
    try:
        prepare(DatabaseSettings().url.get_secret_value(), Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    except Exception as error:
        if (sentence := sentence_of(error)) is None:
            raise
        sys.exit(sentence)


if __name__ == "__main__":
    main()
