"""The runs of tests, as the resource of the tests needs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.runs.cancel import Canceller
from parley.server.runs.record import summary
from parley.server.runs.repository import RunRepository
from parley.server.runs.schemas import RunSummary


class RunsOfTests:
    """Reads and cancels runs within the caller's transaction."""

    def __init__(self, canceller: Canceller) -> None:
        self._canceller = canceller

    async def latest(
        self, session: Session, scope: AccountScope, test_ids: Sequence[UUID]
    ) -> Mapping[UUID, RunSummary]:
        """The newest run of each of these tests that has one."""
        found = await RunRepository(session, scope).latest_of(test_ids)
        return {test_id: summary(run) for test_id, run in found.items()}

    async def cancel_open(self, session: Session, scope: AccountScope, test_id: UUID) -> None:
        """Cancel every pending and running run of a test that was just deleted."""
        await self._canceller.cancel_open(session, scope, test_id)
