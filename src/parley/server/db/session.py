"""A session that knows what to do once its transaction is committed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from sqlalchemy.ext.asyncio import AsyncSession

AfterCommit: TypeAlias = Callable[[], Awaitable[None]]


class Session(AsyncSession):
    """One transaction. Rooms never commit; the edge that opened it does."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._after_commit: list[AfterCommit] = []

    def after_commit(self, action: AfterCommit) -> None:
        """Run `action` once the transaction is committed; never if it is rolled back.

        It is a hint, not a promise: the process may die between commit and action, so what must
        happen needs a row as well.
        """
        self._after_commit.append(action)

    async def run_after_commit(self) -> None:
        """Run what was asked for, in order. Called by the edge."""
        actions, self._after_commit = self._after_commit, []
        for action in actions:
            await action()
