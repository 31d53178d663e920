"""Raw connections kept at hand: to borrow one from the pool costs five times the statement itself."""

from __future__ import annotations

from typing import TypeAlias, cast

import asyncpg
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

RawConnection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


class RawConnections:
    """Up to `most_kept` connections of the engine's pool, taken out and handed from one user to the next."""

    def __init__(self, engine: AsyncEngine, most_kept: int) -> None:
        self._engine = engine
        self._most_kept = most_kept
        self._kept: list[tuple[AsyncConnection, RawConnection]] = []

    async def take(self) -> tuple[AsyncConnection, RawConnection]:
        """A connection that was fine when it was last used, or a new one of the pool."""
        while self._kept:
            connection, raw = self._kept.pop()
            if not raw.is_closed():
                return connection, raw
            await self._drop(connection)
        connection = await self._engine.connect()
        try:
            pooled = await connection.get_raw_connection()
        except BaseException:
            await connection.close()
            raise
        return connection, cast("RawConnection", pooled.driver_connection)

    async def give_back(self, connection: AsyncConnection, raw: RawConnection) -> None:
        """Keep a connection for the next user, unless there are enough or it is not as it was."""
        if raw.is_closed() or raw.is_in_transaction():
            await self._drop(connection)
        elif len(self._kept) < self._most_kept:
            self._kept.append((connection, raw))
        else:
            await connection.close()

    async def close(self) -> None:
        """Give every kept connection back to the pool."""
        while self._kept:
            await self._kept.pop()[0].close()

    @staticmethod
    async def _drop(connection: AsyncConnection) -> None:
        await connection.invalidate()
        await connection.close()
