"""Rows of direct evaluations."""

from __future__ import annotations

from sqlalchemy import func, select

from parley.server.db.repository import Repository
from parley.server.db.tables.direct_calls import DirectCall


class DirectCallRepository(Repository[DirectCall]):
    """The direct evaluations in scope."""

    table = DirectCall

    async def open_count(self) -> int:
        """How many are open: each holds a slot."""
        statement = self.narrow(select(func.count()).select_from(DirectCall))
        return await self.session.scalar(statement.where(DirectCall.state == "running")) or 0
