"""What follows from the end of a run: counted and told once, in order, with Redis gone too."""

from __future__ import annotations

import logging
from typing import Final
from uuid import UUID

from parley.server.agentic_tests import watch
from parley.server.db.database import Database
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.errors import DatabaseAway
from parley.server.kit.ticks import every
from parley.server.notifications.facts import AboutTest
from parley.server.notifications.teller import Teller
from parley.server.queue import outbox
from parley.server.runs.ended import ends_of
from parley.server.suites.ends import settle

MOST_GROUPS: Final = 100
"""Tests looked at in one round."""

_log = logging.getLogger(__name__)


class Reactions:
    """A tick of every worker process. Many may react at once: who holds a test decides."""

    def __init__(self, database: Database, teller: Teller, tick_s: float) -> None:
        self._database = database
        self._teller = teller
        self._tick_s = tick_s

    async def run(self) -> None:
        """React every tick until cancelled; what was begun and not committed comes again."""
        await every(self._tick_s, "reactions", self.once)

    async def once(self) -> None:
        """React to every end that is waiting and that nobody else is at."""
        while await self._round():
            pass

    async def _round(self) -> int:
        """React to the ends of some tests; of how many."""
        async with self._database.session() as session:
            groups = await outbox.due_groups(session, outbox.RUN_ENDED, MOST_GROUPS)
        return sum([await self._react(AccountScope(account_id), test_id) for account_id, test_id in groups])

    async def _react(self, scope: AccountScope, test_id: UUID) -> bool:
        try:
            async with self._database.session() as session:
                return await react(session, scope, self._teller, test_id)
        except DatabaseAway:
            raise
        except Exception:
            _log.exception("the reaction to ends of test %s broke", test_id)
            async with self._database.session() as session:
                await outbox.put_off(session, scope, outbox.RUN_ENDED, test_id)
            return False


async def react(session: Session, scope: AccountScope, teller: Teller, test_id: UUID) -> bool:
    """React to all ends of a test's runs within the transaction. False if somebody else is at it."""
    watched = await watch.hold(session, scope, test_id)
    if watched is None and not await watch.is_gone(session, scope, test_id):
        return False
    run_ids = await outbox.take(session, scope, outbox.RUN_ENDED, test_id)
    ended = await ends_of(session, scope, run_ids)
    await settle(session, scope, [one.end.run_id for one in ended if one.of_suite])
    if watched is None or not watched.is_live:
        return bool(run_ids)
    health, was_told = watched.health, False
    test = AboutTest(id=test_id, name=watched.name)
    # Runs of suites say nothing about the test's health: their evaluation is gated, and another gateway may
    # have been tried.
    for one in ended:
        if one.of_suite:
            continue
        health, told_now = await teller.tell(session, scope, test, watched.wishes, health, one.end)
        was_told = was_told or told_now
    if health != watched.health:
        await watch.remember(session, scope, test_id, health, was_told=was_told)
    return bool(run_ids)
