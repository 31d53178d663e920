"""Reading runs, for the rooms above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.errors import NotFound
from parley.server.kit.paging import Paging
from parley.server.kit.schemas import PageInfo
from parley.server.runs.record import detail, summary
from parley.server.runs.repository import RunRepository
from parley.server.runs.schemas import RunDetail, RunSummary


async def read_summary(session: Session, scope: AccountScope, test_id: UUID, run_id: UUID) -> RunSummary:
    """One run of a test. Raises `NotFound`."""
    run = await RunRepository(session, scope).of_test(test_id, run_id)
    if run is None:
        raise NotFound
    return summary(run)


async def read_detail(session: Session, scope: AccountScope, test_id: UUID, run_id: UUID) -> RunDetail:
    """One run of a test with all that was said. Raises `NotFound`."""
    runs = RunRepository(session, scope)
    run = await runs.of_test(test_id, run_id)
    if run is None:
        raise NotFound
    return detail(run, await runs.entries(run))


async def listed(
    session: Session, scope: AccountScope, test_id: UUID, state: str | None, paging: Paging
) -> tuple[Sequence[RunSummary], PageInfo]:
    """One page of a test's runs, newest first."""
    rows, page = await RunRepository(session, scope).list_of_test(test_id, state, paging)
    return [summary(run) for run in rows], page


async def latest(
    session: Session, scope: AccountScope, test_ids: Sequence[UUID]
) -> Mapping[UUID, RunSummary]:
    """The newest run of each of these tests that has one."""
    found = await RunRepository(session, scope).latest_of(test_ids)
    return {test_id: summary(run) for test_id, run in found.items()}


async def recent_scores(
    session: Session, scope: AccountScope, test_ids: Sequence[UUID], runs: int
) -> Mapping[UUID, list[float]]:
    """Scores of the newest `runs` runs of each test, oldest first; runs without one are left out."""
    found: dict[UUID, list[float]] = {}
    for test_id, score in await RunRepository(session, scope).scores_of(test_ids, runs):
        found.setdefault(test_id, []).append(float(score))
    return found


async def read_summaries(
    session: Session, scope: AccountScope, run_ids: Sequence[UUID]
) -> Mapping[UUID, RunSummary]:
    """Those of these runs that there are, of any test."""
    rows = await RunRepository(session, scope).some(run_ids)
    return {run.id: summary(run) for run in rows}
