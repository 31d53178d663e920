"""The tick that delivers. Works with Redis gone; many may tick at once."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from parley.server.db.database import Database
from parley.server.journal.keep import patiently
from parley.server.kit.ticks import every
from parley.server.notifications.attempt import refused
from parley.server.notifications.backoff import wait_s
from parley.server.notifications.claimed import Claimed
from parley.server.notifications.messenger import Messenger
from parley.server.notifications.repository import claim, record

MOST_AT_ONCE: Final = 10
"""Deliveries of one process at once; mail servers commonly refuse more connections of one client."""
LEASE_S: Final = 90.0
"""When another process may take a delivery over: more than an attempt takes, with its deadlines."""

_log = logging.getLogger(__name__)


class Deliverer:
    """Tries what is due: each delivery by one process at a time, until it has ended."""

    def __init__(self, database: Database, messenger: Messenger, tick_s: float) -> None:
        self._database = database
        self._messenger = messenger
        self._tick_s = tick_s
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Tick until cancelled; what is under way goes on."""
        await every(self._tick_s, "deliveries", self.once)

    async def once(self) -> int:
        """Begin what is due, as far as there is room; how many."""
        room = MOST_AT_ONCE - len(self._tasks)
        if room <= 0:
            return 0
        async with self._database.session() as session:
            taken = await claim(session, room, LEASE_S)
        for held in taken:
            task = asyncio.create_task(self._deliver(held), name=f"delivery-{held.id}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return len(taken)

    async def drain(self) -> None:
        """Wait for what is under way, so that nothing is sent again by another process."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def close(self) -> None:
        """Drop what is under way; its leases run out."""
        for task in self._tasks:
            task.cancel()
        await self.drain()

    async def _deliver(self, held: Claimed) -> None:
        try:
            if held.channel is not None and not held.channel.enabled:
                await record(self._database, held, refused("The channel was switched off."), None)
            else:
                await deliver(self._database, self._messenger, held)
        except Exception:
            _log.exception("delivery %s is left to its lease", held.id)


async def deliver(
    database: Database, messenger: Messenger, held: Claimed, *, is_repeated: bool = True
) -> None:
    """Try a held delivery once, and note what became of it. Waits while Postgres is away."""
    attempt = await messenger.attempt(held)
    wait = None
    if is_repeated and not attempt.delivered and not attempt.is_final:
        wait = wait_s(held.attempts, attempt.wait_s)
    await patiently(lambda: record(database, held, attempt, wait))
    if not attempt.delivered:
        _log.info("delivery %s, attempt %d: %s", held.id, held.attempts, attempt.error)
