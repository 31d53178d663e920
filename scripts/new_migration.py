"""Writes the next migration, from the newest revision to the tables in the code.

Usage: `python -m scripts.new_migration WHAT IT DOES`. It compares with a database of its own, so the
caller's is never looked at.
"""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import asyncpg
from alembic import command

from parley.server.db.migrate import config, head
from tests.servers import running_servers


def write_migration(message: str) -> None:
    """Make the next numbered file in migrations/versions."""
    with running_servers() as servers, _scratch_database(servers.postgres_url) as url:
        migrations = config(url)
        migrations.set_main_option("file_template", "%%(rev)s_%%(slug)s")
        command.upgrade(migrations, "head")
        command.revision(migrations, message, autogenerate=True, rev_id=f"{int(head()) + 1:04d}")


@contextmanager
def _scratch_database(server_url: str) -> Iterator[str]:
    name = f"parley_migration_{uuid4().hex[:12]}"
    asyncio.run(_execute(server_url, f'CREATE DATABASE "{name}"'))
    try:
        yield urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    finally:
        asyncio.run(_execute(server_url, f'DROP DATABASE "{name}" WITH (FORCE)'))


async def _execute(server_url: str, statement: str) -> None:
    connection = await asyncpg.connect(server_url, timeout=10)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


if __name__ == "__main__":
    write_migration(" ".join(sys.argv[1:]))
