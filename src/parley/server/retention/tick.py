"""The tick of every worker process. Works with Redis gone; many may tick at once."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from uuid import UUID

from parley.server.db.database import Database
from parley.server.db.repository import SystemScope
from parley.server.errors import DatabaseAway
from parley.server.idempotency.service import forget_old
from parley.server.kit.ticks import every
from parley.server.retention.batches import Batches, took_too_long
from parley.server.retention.policy import RetentionRules
from parley.server.retention.repository import RetentionRepository, TestPlace
from parley.server.retention.targets import AccountPage, run_targets
from parley.server.script_judge.grades import forget_old_grades

PAGE: Final = 100
"""Accounts, or deleted tests, looked at by one statement."""
SCOPE: Final = SystemScope("retention removes what is old, whoever owns it")
_NO_ID: Final = UUID(int=0)

Removal: TypeAlias = Callable[[RetentionRepository, int], Awaitable[int]]

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Pass:
    """What one pass did."""

    removed: Counter[str] = field(default_factory=Counter)
    """Rows by kind."""
    faults: int = 0
    """Pages of which something is left, because the removal broke; each is in the log."""


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
        await every(self._tick_s, "retention", self._told, at_once=True)

    async def _told(self) -> None:
        done = await self.once()
        if done.removed.total():
            _log.info("retention removed %s", dict(+done.removed))

    async def once(self) -> Pass:
        """One pass over everything.

        What breaks on one page is logged, and the others have their turn. Raises `DatabaseAway`.
        """
        done = Pass()
        await self._pass_deleted_tests(done)
        await self._pass_accounts(done)
        rules = self._rules
        await self._drain(
            done, "notifications", lambda rows, limit: rows.remove_notifications(rules.notifications, limit)
        )
        await self._drain(
            done, "unanswered ends", lambda rows, limit: rows.remove_outbox_rows(rules.unanswered, limit)
        )
        await self._guarded(done, "grades", self._forget_grades)
        await self._guarded(done, "idempotency keys", self._forget_keys)
        return done

    async def _pass_deleted_tests(self, done: Pass) -> None:
        after = TestPlace(_NO_ID, _NO_ID)
        while True:
            async with self._rows() as rows:
                tests = await rows.deleted_tests_after(after, PAGE)
            if not tests:
                return
            after = tests[-1]
            await self._remove_tests(done, tests)

    async def _remove_tests(self, done: Pass, tests: Sequence[TestPlace]) -> None:
        await self._drain(done, "runs", lambda rows, limit: rows.remove_runs_of(tests, limit))
        await self._drain(done, "tests", lambda rows, limit: rows.remove_tests(tests, limit))

    async def _pass_accounts(self, done: Pass) -> None:
        after: UUID | None = None
        while True:
            async with self._rows() as rows:
                page = await rows.accounts_after(after, PAGE)
            if page is None:
                return
            after = page.ids[-1]
            await self._remove_of(done, page)

    async def _remove_of(self, done: Pass, page: AccountPage) -> None:
        targets, ids, kept = run_targets(page, self._rules), page.ids, self._rules.accounting
        await self._drain(done, "runs", lambda rows, limit: rows.remove_runs(targets, limit))
        await self._drain(
            done, "direct evaluations", lambda rows, limit: rows.remove_direct_calls(ids, kept, limit)
        )
        await self._drain(done, "quota units", lambda rows, limit: rows.remove_quota_units(ids, limit))

    async def _drain(self, done: Pass, kind: str, remove: Removal) -> None:
        async def batch(limit: int) -> int:
            async with self._rows() as rows:
                return await remove(rows, limit)

        await self._guarded(done, kind, batch)

    async def _guarded(self, done: Pass, kind: str, batch: Callable[[int], Awaitable[int]]) -> None:
        try:
            done.removed[kind] += await self._batches.drain(batch)
        except Exception as fault:
            if isinstance(fault, DatabaseAway) and not took_too_long(fault):
                raise
            done.faults += 1
            _log.exception("retention: some %s could not be removed", kind)

    async def _forget_grades(self, limit: int) -> int:
        async with self._database.session() as session:
            return await forget_old_grades(session, SCOPE, limit)

    async def _forget_keys(self, limit: int) -> int:
        async with self._database.session() as session:
            return await forget_old(session, SCOPE, limit)

    @asynccontextmanager
    async def _rows(self) -> AsyncIterator[RetentionRepository]:
        async with self._database.raw() as connection:
            yield RetentionRepository(connection, SCOPE)
