"""The runs of tests, as the resource of the tests needs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.runs import service as runs
from parley.server.runs.cancel import Canceller
from parley.server.runs.schemas import RunSummary


class RunsOfTests:
    """Reads and cancels runs within the caller's transaction."""

    def __init__(self, canceller: Canceller) -> None:
        self._canceller = canceller

    async def latest(
        self, session: Session, scope: AccountScope, test_ids: Sequence[UUID]
    ) -> Mapping[UUID, RunSummary]:
        """The newest run of each of these tests that has one."""
        return await runs.latest(session, scope, test_ids)

    async def cancel_open(self, session: Session, scope: AccountScope, test_id: UUID) -> None:
        """Cancel every pending and running run of a test that was just deleted."""
        await self._canceller.cancel_open(session, scope, test_id)
