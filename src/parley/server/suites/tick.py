"""The tick of every worker process. Works with Redis gone; many may tick at once."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final
from uuid import UUID

from parley.server.db.database import Database
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.errors import DatabaseAway
from parley.server.kit.ticks import every
from parley.server.suites.carry import Means, carry_on, put_off_broken
from parley.server.suites.repository import Key, due_evaluations, due_suites
from parley.server.suites.schedule import fire

MOST_AT_ONCE: Final = 100
"""Suites, and evaluations, looked at in one round."""

_log = logging.getLogger(__name__)


class SuiteTick:
    """Begins evaluations of suites that are due, and carries open ones on, each a step in turn."""

    def __init__(self, database: Database, means: Means, tick_s: float) -> None:
        self._database = database
        self._means = means
        self._tick_s = tick_s

    async def run(self) -> None:
        """Tick until cancelled; what was begun and not committed is done again."""
        await every(self._tick_s, "suites", self.once)

    async def once(self) -> None:
        """Do everything that can be done now and that nobody else is at."""
        while await self._fire_due():
            pass
        while await self._carry_on():
            pass

    async def _fire_due(self) -> int:
        async with self._database.session() as session:
            due = await due_suites(session, MOST_AT_ONCE)
        return sum([await self._fire(*one) for one in due])

    async def _fire(self, account_id: UUID, suite_id: UUID) -> bool:
        async def fired(session: Session) -> bool:
            return await fire(session, AccountScope(account_id), self._means.offer, suite_id)

        return await self._attempted(f"schedule of suite {suite_id}", fired)

    async def _carry_on(self) -> int:
        """A step of each evaluation that wants one; how many may go on at once."""
        async with self._database.session() as session:
            due = await due_evaluations(session, MOST_AT_ONCE)
        return sum([await self._step(key) for key in due])

    async def _step(self, key: Key) -> bool:
        async def stepped(session: Session) -> bool:
            return await carry_on(session, self._means, key)

        async def put_off(session: Session) -> None:
            await put_off_broken(session, key)

        return await self._attempted(f"evaluation {key.evaluation_id}", stepped, put_off)

    async def _attempted(
        self,
        what: str,
        work: Callable[[Session], Awaitable[bool]],
        put_off: Callable[[Session], Awaitable[None]] | None = None,
    ) -> bool:
        try:
            async with self._database.session() as session:
                return await work(session)
        except DatabaseAway:
            raise
        except Exception:
            _log.exception("%s broke", what)
        if put_off is not None:
            async with self._database.session() as session:
                await put_off(session)
        return False
