"""One pool per process: transactions through SQLAlchemy, and raw asyncpg for the hot path."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

import asyncpg
from sqlalchemy import event, exc, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import QueuePool

from parley.server.db.away import is_away
from parley.server.db.raw import RawConnection, RawConnections
from parley.server.db.session import Session
from parley.server.errors import DatabaseAway
from parley.server.kit import strictjson

ANSWER_PATIENCE_S: Final = 2.0
"""How much longer than the statement timeout an answer may take before its connection is given up."""
CLOSE_S: Final = 2.0
"""Wait for connections to be closed in good order, when the process stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOptions:
    """Sizes and bounds of one process's pool; seconds, connections."""

    size: int = 10
    overflow: int = 5
    timeout_s: float = 5.0
    connect_timeout_s: float = 3.0
    statement_timeout_s: float = 15.0
    pooler_mode: bool = False
    application_name: str = "parley"


class Database:
    """The way to PostgreSQL. Opens nothing until it is first used."""

    def __init__(self, url: str, options: PoolOptions | None = None) -> None:
        self.dsn = plain_url(url)
        self._options = options or PoolOptions()
        self.engine: AsyncEngine = create_async_engine(
            "postgresql+asyncpg://",
            pool_size=self._options.size,
            max_overflow=self._options.overflow,
            pool_timeout=self._options.timeout_s,
            json_serializer=strictjson.write,
            connect_args=self._connect_args(),
        )
        event.listen(self.engine.sync_engine, "checkout", _refuse_dead)
        self._raw = RawConnections(self.engine, most_kept=self._options.size // 2)

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """One transaction: committed at the end of the block, rolled back if it raises.

        A connection is taken at the first statement, not before. What was handed to
        `Session.after_commit` runs once the commit is done. Raises `DatabaseAway`.
        """
        session = Session(self.engine, expire_on_commit=False)
        try:
            async with session:
                try:
                    yield session
                    await session.commit()
                except TimeoutError:
                    await session.invalidate()  # who does not answer is not asked to roll back
                    raise
        except Exception as fault:
            if is_away(fault):
                raise DatabaseAway from fault
            raise
        await session.run_after_commit()

    @asynccontextmanager
    async def raw(self) -> AsyncIterator[RawConnection]:
        """An asyncpg connection of the pool in autocommit: each statement is its own transaction.

        JSONB goes in and comes out as text (`strictjson.write`). Do not open a transaction that
        outlives the block. Raises `DatabaseAway`.
        """
        try:
            connection, raw = await self._raw.take()
            try:
                yield raw
            except (TimeoutError, asyncio.CancelledError, asyncpg.InternalClientError):
                raw.terminate()  # a statement may still be under way; nobody waits for it
                raise
            finally:
                await self._raw.give_back(connection, raw)
        except Exception as fault:
            if is_away(fault):
                raise DatabaseAway from fault
            raise

    @property
    def connections_taken(self) -> int:
        """Connections out of the pool now: in use, or kept at hand for the next raw statement."""
        pool = self.engine.pool
        return pool.checkedout() if isinstance(pool, QueuePool) else 0

    @property
    def connections_most(self) -> int:
        """Connections this process may have at once."""
        return self._options.size + self._options.overflow

    async def check(self, timeout_s: float) -> None:
        """Ask the server something within `timeout_s`. Raises `DatabaseAway`."""
        try:
            async with asyncio.timeout(timeout_s), self.session() as session:
                await session.execute(text("SELECT 1"))
        except TimeoutError as fault:
            raise DatabaseAway from fault

    async def close(self) -> None:
        """Close every connection; one whose server says nothing more is dropped."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self._raw.close()
                await self.engine.dispose()

    def _connect_args(self) -> dict[str, Any]:
        arguments: dict[str, Any] = {"async_creator_fn": self._connect}
        if self._options.pooler_mode:
            arguments["prepared_statement_cache_size"] = 0
            arguments["prepared_statement_name_func"] = lambda: f"__parley_{uuid4().hex}__"
        return arguments

    async def _connect(self, *_: object, **__: object) -> RawConnection:
        try:
            return await asyncpg.connect(
                self.dsn,
                timeout=self._options.connect_timeout_s,
                command_timeout=self._options.statement_timeout_s + ANSWER_PATIENCE_S,
                statement_cache_size=0 if self._options.pooler_mode else 100,
                server_settings=self._server_settings(),
            )
        except (OSError, TimeoutError, ssl.SSLError, asyncpg.PostgresError, asyncpg.InterfaceError) as fault:
            raise DatabaseAway from fault

    def _server_settings(self) -> dict[str, str]:
        if self._options.pooler_mode:
            return {}
        longest_ms = str(int(self._options.statement_timeout_s * 1000))
        return {
            "application_name": self._options.application_name,
            "statement_timeout": longest_ms,
            # Who falls silent within a transaction is lost, and would lock a run and its account meanwhile.
            "idle_in_transaction_session_timeout": longest_ms,
            "jit": "off",
        }


def _refuse_dead(connection: Any, *_: object) -> None:
    """Let the pool replace a connection that the server has closed, and all that are older."""
    if connection.driver_connection.is_closed():
        raise exc.InvalidatePoolError


def plain_url(url: str) -> str:
    """`url` as asyncpg takes it: `postgres://` and SQLAlchemy's `+asyncpg` are accepted."""
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.split("+")[0] not in ("postgresql", "postgres"):
        raise ValueError("the database URL has to start with postgresql://")
    return f"postgresql://{rest}"
