"""The database of an operator's command."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from parley.server.config import DatabaseSettings
from parley.server.db.database import Database
from parley.server.db.session import Session


@asynccontextmanager
async def transaction() -> AsyncIterator[Session]:
    """One transaction on the database of the settings. Raises `DatabaseAway`."""
    database = Database(DatabaseSettings().url.get_secret_value())
    try:
        async with database.session() as session:
            yield session
    finally:
        await database.close()
