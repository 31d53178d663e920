"""The check behind `scripts/check-migrations`: empty database, up, compare, down, up again."""

from __future__ import annotations

import asyncio
import os
import sys
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import asyncpg
from alembic import command
from alembic.util import CommandError

from parley.server.db.database import plain_url
from parley.server.db.migrate import config

DEFAULT_SERVER = "postgresql://postgres@127.0.0.1:5432/postgres"


def check(server_url: str) -> None:
    """Make a database on the server at `server_url`, migrate and compare it, and drop it again.

    Raises alembic's CommandError if the tables in the code differ from the migrated ones.
    """
    name = f"parley_check_{uuid4().hex[:12]}"
    asyncio.run(_execute(server_url, f'CREATE DATABASE "{name}"'))
    try:
        migrations = config(urlunsplit(urlsplit(plain_url(server_url))._replace(path=f"/{name}")))
        command.upgrade(migrations, "head")
        command.check(migrations)
        command.downgrade(migrations, "base")
        command.upgrade(migrations, "head")
    finally:
        asyncio.run(_execute(server_url, f'DROP DATABASE "{name}" WITH (FORCE)'))


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(plain_url(url), timeout=10)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


if __name__ == "__main__":
    try:
        check(os.environ.get("PARLEY_CHECK_DATABASE_URL", DEFAULT_SERVER))
    except CommandError as fault:
        sys.exit(str(fault))
