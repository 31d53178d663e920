"""The tick of every worker process. Works with Redis gone; many may tick at once."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, TypeAlias
from uuid import UUID

from parley.server.db.database import Database
from parley.server.db.repository import SystemScope
from parley.server.errors import DatabaseAway
from parley.server.idempotency.service import forget_old
from parley.server.retention.batches import Batches
from parley.server.retention.policy import RetentionRules
from parley.server.retention.repository import RetentionRepository, TestPlace
from parley.server.retention.targets import AccountPage, run_targets

PAGE: Final = 100
"""Accounts, or deleted tests, looked at by one statement."""
SCOPE: Final = SystemScope("retention removes what is old, whoever owns it")
_NO_ID: Final = UUID(int=0)

Removal: TypeAlias = Callable[[RetentionRepository, int], Awaitable[int]]

_log = logging.getLogger(__name__)


class Retention:
    """Removes what the rules no longer keep, in small committed batches.

    Nothing is remembered between passes: one that was cut is gone on with by the next, here or in another
    process.
    """

    def __init__(self, database: Database, rules: RetentionRules, batch_size: int, tick_s: float) -> None:
        self._database = database
        self._rules = rules
        self._tick_s = tick_s
        self._batches = Batches(batch_size)

    async def run(self) -> None:
        """Pass at once, then every tick, until cancelled."""
        while True:
            try:
                removed = await self.once()
            except DatabaseAway:
                _log.warning("retention: the database is away")
            except Exception:
                _log.exception("retention failed; it is tried again at the next tick")
            else:
                if removed:
                    _log.info("retention removed %s", dict(removed))
            await asyncio.sleep(self._tick_s)

    async def once(self) -> Counter[str]:
        """One pass over everything; how many rows went, by kind.

        What breaks on one page is logged, and the others have their turn. Raises `DatabaseAway`.
        """
        removed: Counter[str] = Counter()
        await self._pass_deleted_tests(removed)
        await self._pass_accounts(removed)
        await self._guarded(removed, "idempotency keys", self._forget_keys)
        return +removed

    async def _pass_deleted_tests(self, removed: Counter[str]) -> None:
        after = TestPlace(_NO_ID, _NO_ID)
        while True:
            async with self._rows() as rows:
                tests = await rows.deleted_tests_after(after, PAGE)
            if not tests:
                return
            after = tests[-1]
            await self._remove_tests(removed, tests)

    async def _remove_tests(self, removed: Counter[str], tests: Sequence[TestPlace]) -> None:
        await self._drain(removed, "runs", lambda rows, limit: rows.remove_runs_of(tests, limit))
        await self._drain(removed, "tests", lambda rows, limit: rows.remove_tests(tests, limit))

    async def _pass_accounts(self, removed: Counter[str]) -> None:
        after: UUID | None = None
        while True:
            async with self._rows() as rows:
                page = await rows.accounts_after(after, PAGE)
            if page is None:
                return
            after = page.ids[-1]
            await self._remove_of(removed, page)

    async def _remove_of(self, removed: Counter[str], page: AccountPage) -> None:
        targets, ids, kept = run_targets(page, self._rules), page.ids, self._rules.accounting
        await self._drain(removed, "runs", lambda rows, limit: rows.remove_runs(targets, limit))
        await self._drain(
            removed, "direct evaluations", lambda rows, limit: rows.remove_direct_calls(ids, kept, limit)
        )
        await self._drain(removed, "quota units", lambda rows, limit: rows.remove_quota_units(ids, limit))

    async def _drain(self, removed: Counter[str], kind: str, remove: Removal) -> None:
        async def batch(limit: int) -> int:
            async with self._rows() as rows:
                return await remove(rows, limit)

        await self._guarded(removed, kind, batch)

    async def _guarded(
        self, removed: Counter[str], kind: str, batch: Callable[[int], Awaitable[int]]
    ) -> None:
        try:
            removed[kind] += await self._batches.drain(batch)
        except DatabaseAway:
            raise
        except Exception:
            _log.exception("retention: some %s could not be removed", kind)

    async def _forget_keys(self, limit: int) -> int:
        async with self._database.session() as session:
            return await forget_old(session, SCOPE, limit)

    @asynccontextmanager
    async def _rows(self) -> AsyncIterator[RetentionRepository]:
        async with self._database.raw() as connection:
            yield RetentionRepository(connection, SCOPE)
