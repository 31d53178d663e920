"""When keys were last used: collected in memory, written now and then, never while a request waits."""

from __future__ import annotations

from uuid import UUID

from parley.engine.ports import Clock
from parley.server.accounts.repository import KeyLookup
from parley.server.db.database import Database
from parley.server.kit.ticks import every

WRITE_EVERY_S = 60.0
"""A key is written at most once in this time by one process, and the statement looks at the row as well."""
FLUSH_EVERY_S = 2.0


class LastUsed:
    """The keys seen since the last write. `run` is owned by the process and ended by cancelling it."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._waiting: set[UUID] = set()
        self._written_at: dict[UUID, float] = {}

    def saw(self, key_id: UUID) -> None:
        """Remember that a key was used now."""
        written_at = self._written_at.get(key_id)
        if written_at is None or self._clock.monotonic_s() - written_at >= WRITE_EVERY_S:
            self._waiting.add(key_id)

    async def run(self) -> None:
        """Write for ever."""
        await every(FLUSH_EVERY_S, "last use of keys", self.flush)

    async def flush(self) -> None:
        """Write what is waiting. Raises `DatabaseAway`, keeping it for the next time."""
        if not self._waiting:
            return
        seen = frozenset(self._waiting)
        async with self._database.session() as session:
            await KeyLookup(session).touch(seen)
        now = self._clock.monotonic_s()
        self._waiting -= seen
        self._written_at = {
            key_id: at for key_id, at in self._written_at.items() if now - at < WRITE_EVERY_S
        } | dict.fromkeys(seen, now)
