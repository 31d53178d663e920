"""What tests need to know of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.runs.schemas import RunSummary


class OpenRuns(Protocol):
    """The runs of an account's tests. Both work within the caller's transaction."""

    async def latest(
        self, session: Session, scope: AccountScope, test_ids: Sequence[UUID]
    ) -> Mapping[UUID, RunSummary]:
        """The newest run of each of these tests that has one."""
        ...

    async def cancel_open(self, session: Session, scope: AccountScope, test_id: UUID) -> None:
        """Cancel every pending and running run of a test that was just deleted."""
        ...


class NoRuns:
    """The twin for a service without runs: there are none, so nothing is cancelled."""

    async def latest(
        self,
        session: Session,
        scope: AccountScope,
        test_ids: Sequence[UUID],
    ) -> Mapping[UUID, RunSummary]:
        """None."""
        return {}

    async def cancel_open(self, session: Session, scope: AccountScope, test_id: UUID) -> None:
        """Nothing to do."""


@dataclass(frozen=True, slots=True)
class RunsLink:
    """Holds the port, so that endpoints can ask for it by a type of its own."""

    runs: OpenRuns
