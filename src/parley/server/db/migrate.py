"""Migrations over all replicas: one advisory lock, waiters that look again, bounded waits.

`upgrade` is what the operators' command and the tests call; `migrations/env.py` ends here too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import asyncpg
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, pool, text
from sqlalchemy.ext.asyncio import create_async_engine

from parley.server.db.away import is_away
from parley.server.db.database import plain_url
from parley.server.db.tables import Table
from parley.server.errors import DatabaseAway

LOCK_KEY = 0x7061726C6579
"""The advisory lock of migrations ("parley" in ASCII); one number for every release."""
LOCK_WAIT_S = 600.0
"""How long a replica waits for another one that is migrating."""
LOCK_POLL_S = 0.2
LOCK_TIMEOUT_MS = 5_000
"""A statement that waits longer for a table gives up, so that it never stops the traffic behind it."""
STATEMENT_TIMEOUT_MS = 300_000
OPTIONAL_INDEXES = frozenset({"ix_agentic_tests_name"})
"""Not part of the tables the code declares: made only where the server has what they need."""


class MigrationLockError(RuntimeError):
    """Another process has been migrating for longer than we wait."""


def config(url: str) -> Config:
    """Alembic's configuration for the database at `url`."""
    found = Config()
    found.set_main_option("script_location", str(directory()))
    found.set_main_option("path_separator", "os")
    found.attributes["url"] = url
    return found


def directory() -> Path:
    """The folder of migrations: shipped inside the package, or at the top of a checkout."""
    room = Path(__file__).resolve().parent
    shipped = room / "migrations"
    return shipped if shipped.is_dir() else room.parents[3] / "migrations"


def upgrade(url: str, revision: str = "head") -> None:
    """Bring the database at `url` to `revision`; waits for another process that is doing so.

    Blocking. Raises `DatabaseAway` or `MigrationLockError`.
    """
    command.upgrade(config(url), revision)


def head() -> str:
    """The newest revision that this code knows."""
    found = ScriptDirectory(str(directory())).get_current_head()
    if found is None:
        raise RuntimeError("there are no migrations")
    return found


async def current(url: str) -> str | None:
    """The revision of the database at `url`; None before the first migration. Raises `DatabaseAway`."""
    found: list[str | None] = []

    def look(connection: Connection) -> None:
        found.append(MigrationContext.configure(connection).get_current_revision())

    await _connected(url, look)
    return found[0]


def run_in_context(context: Any, default_url: str) -> None:
    """What `migrations/env.py` does: migrate on one locked connection, each migration in a transaction."""
    url = context.config.attributes.get("url") or default_url
    if context.is_offline_mode():
        context.configure(url=plain_url(url), target_metadata=Table.metadata, literal_binds=True)
        with context.begin_transaction():
            context.run_migrations()
        return

    def migrate(connection: Connection) -> None:
        _take_lock(connection)
        try:
            context.configure(
                connection=connection,
                target_metadata=Table.metadata,
                transaction_per_migration=True,
                compare_type=True,
                compare_server_default=True,
                include_name=_is_compared,
            )
            with context.begin_transaction():
                context.run_migrations()
        finally:
            connection.rollback()
            connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": LOCK_KEY})
            connection.commit()

    _run_to_end(lambda: _connected(url, migrate))


def _is_compared(name: str | None, kind: str, _parents: object) -> bool:
    return kind != "index" or name not in OPTIONAL_INDEXES


def _take_lock(connection: Connection) -> None:
    give_up_at = time.monotonic() + LOCK_WAIT_S
    while not connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": LOCK_KEY}):
        connection.commit()
        if time.monotonic() > give_up_at:
            raise MigrationLockError(
                f"another process has held the migration lock for {LOCK_WAIT_S:.0f} s; see pg_locks"
            )
        time.sleep(LOCK_POLL_S)
    connection.execute(text(f"SET lock_timeout = {LOCK_TIMEOUT_MS}"))
    connection.execute(text(f"SET statement_timeout = {STATEMENT_TIMEOUT_MS}"))
    connection.commit()


async def _connected(url: str, action: Callable[[Connection], None]) -> None:
    engine = create_async_engine(
        "postgresql+asyncpg://",
        poolclass=pool.NullPool,
        connect_args={"async_creator_fn": lambda *_, **__: asyncpg.connect(plain_url(url), timeout=10)},
    )
    try:
        async with engine.connect() as connection:
            await connection.run_sync(action)
    except (OSError, TimeoutError) as fault:
        raise DatabaseAway from fault
    except Exception as fault:
        if is_away(fault):
            raise DatabaseAway from fault
        raise
    finally:
        await engine.dispose()


def _run_to_end(start: Callable[[], Any]) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(start())
    else:
        with ThreadPoolExecutor(max_workers=1) as thread:
            thread.submit(lambda: asyncio.run(start())).result()
