"""Suites of runs that were sent in: found by the id that their author gave them."""

from __future__ import annotations

from typing import cast

from sqlalchemy import text

from parley.server.db.tables import Suite
from parley.server.suites.repository import SuiteRepository

# Until the transaction ends. Nobody can lock a suite that is not there yet.
_HOLD = text("SELECT pg_advisory_xact_lock(hashtextextended(:account_id || '/' || :suite_id, 0))")


class SentSuites(SuiteRepository):
    """The suites of an account that are played in its own process."""

    async def hold(self, account_id: str, suite_id: str) -> None:
        """Let nobody else make or change the suite of this id before the transaction ends."""
        await self.session.execute(_HOLD, {"account_id": account_id, "suite_id": suite_id})

    async def find(self, suite_id: str) -> Suite | None:
        """The suite whose script has this id; the oldest, should there be several."""
        script = Suite.content["script"]
        statement = self.live().where(
            script["suite"]["id"].astext == suite_id, script["target"]["type"].astext == "process"
        )
        return cast("Suite | None", await self.session.scalar(statement.order_by(Suite.id).limit(1)))
