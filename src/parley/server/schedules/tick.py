"""The tick of every worker process. Works with Redis gone; many may tick at once."""

from __future__ import annotations

import logging
from typing import Final
from uuid import UUID

from parley.server.agentic_tests.due import accounts_with_due_tests
from parley.server.db.database import Database
from parley.server.db.repository import AccountScope
from parley.server.errors import DatabaseAway
from parley.server.kit.ticks import every
from parley.server.schedules.fire import Starter, fire_due

MOST_ACCOUNTS: Final = 100
"""Accounts of one round."""
MOST_TESTS: Final = 10
"""Tests of one account settled in one transaction: enough to share its cost, few enough that the account
is not locked for long."""

_log = logging.getLogger(__name__)


class Scheduler:
    """Starts what is due, accounts in turn."""

    def __init__(self, database: Database, starter: Starter, tick_s: float) -> None:
        self._database = database
        self._starter = starter
        self._tick_s = tick_s

    async def run(self) -> None:
        """Tick until cancelled; what was begun and not committed is due again at once."""
        await every(self._tick_s, "schedules", self.once)

    async def once(self) -> None:
        """Settle everything that is due and that no other scheduler holds."""
        while await self._round():
            pass

    async def _round(self) -> int:
        """A few tests of each account; how many."""
        async with self._database.session() as session:
            accounts = await accounts_with_due_tests(session, MOST_ACCOUNTS)
        return sum([await self._settle(account_id) for account_id in accounts])

    async def _settle(self, account_id: UUID) -> int:
        try:
            async with self._database.session() as session:
                return await fire_due(session, AccountScope(account_id), self._starter, MOST_TESTS)
        except DatabaseAway:
            raise
        except Exception:
            _log.exception("schedules of account %s failed", account_id)
            return 0
