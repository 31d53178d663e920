from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from parley.server.db.database import Database
from parley.server.errors import NotABaseline, NothingToRegrade
from parley.server.evaluations import pins, read, scoring
from parley.server.evaluations.new import Score
from parley.server.evaluations.regrade import Graders, begin_regrade, flips
from parley.server.evaluations.schemas import Regrade
from parley.server.kit.paging import Paging
from tests.factories.accounts import Tenant
from tests.factories.evaluations import Rating, evaluated, make_dataset, stored


class AGrader:
    """A grader that changes its criteria, and notes whom it woke."""

    def __init__(self) -> None:
        self.announced: list[UUID] = []

    def changed(self, grading: Mapping[str, Any], changes: Regrade) -> dict[str, Any]:
        return {**grading, "criteria": changes.criteria}

    async def announce(self, evaluation_id: UUID) -> None:
        self.announced.append(evaluation_id)


@pytest.fixture
async def dataset(database: Database, tenant: Tenant) -> UUID:
    return await make_dataset(database, tenant.scope)


async def regraded(database: Database, tenant: Tenant, former: UUID, ratings: dict[str, int]) -> UUID:
    """Regrade an evaluation and score it with new ratings by case."""
    grader = AGrader()
    async with database.session() as session:
        changes = Regrade(criteria="Be kind.")
        row = await begin_regrade(session, tenant.scope, Graders(grader), former, changes)
    assert grader.announced == [row.id]
    async with database.session() as session:
        held = await scoring.claim(session, 100, 60)
        lines = {line.id: line for line in (await read.results(session, tenant.scope, row.id, Paging()))[0]}
    for each in held:
        rating = Decimal(ratings[lines[each.result_id].case_id])
        score = Score(status="rated", rating=rating, passed=rating >= 7)
        async with database.session() as session:
            await scoring.score(session, tenant.scope, row.id, each.result_id, score, held=each)
    return row.id


async def test_new_verdicts_are_linked_and_old_ones_stay(
    database: Database, tenant: Tenant, dataset: UUID
) -> None:
    former = await evaluated(database, tenant.scope, dataset, [9, 5, "failed", None, 8])
    before = (await stored(database, tenant.scope, former)).statistics
    made = await regraded(database, tenant, former, {"c0": 3, "c1": 6, "c3": 9, "c4": 9})
    row = await stored(database, tenant.scope, made)
    assert (row.state, row.regrade_of, row.grading["criteria"]) == ("completed", former, "Be kind.")
    assert row.grading_hash != (await stored(database, tenant.scope, former)).grading_hash
    assert (await stored(database, tenant.scope, former)).statistics == before
    async with database.session() as session:
        told = await flips(session, tenant.scope, made)
    assert [(flip.case_id, flip.was, flip.now, flip.rating_was, flip.rating_is) for flip in told] == [
        ("c0", "passed", "not passed", Decimal(9), Decimal(3)),
        ("c3", "skipped", "passed", None, Decimal(9)),
    ]


async def test_agents_failure_comes_over_as_it_was(database: Database, tenant: Tenant, dataset: UUID) -> None:
    former = await evaluated(database, tenant.scope, dataset, [9, "failed"])
    made = await regraded(database, tenant, former, {"c0": 9})
    async with database.session() as session:
        lines, _ = await read.results(session, tenant.scope, made, Paging())
    assert [(line.status, line.rating) for line in lines] == [
        ("rated", Decimal(9)),
        ("failed", Decimal(0)),
    ]
    assert all(line.regraded_from for line in lines)


async def test_regraded_evaluation_is_never_a_baseline(
    database: Database, tenant: Tenant, dataset: UUID
) -> None:
    former = await evaluated(database, tenant.scope, dataset, [9])
    made = await regraded(database, tenant, former, {"c0": 9})
    grading = (await stored(database, tenant.scope, made)).grading
    later = await evaluated(database, tenant.scope, dataset, [9], grading=grading)
    assert (await stored(database, tenant.scope, later)).baseline_id is None
    async with database.session() as session:
        with pytest.raises(NotABaseline, match="regraded"):
            await pins.pin(session, tenant.scope, made)


@pytest.mark.parametrize("ratings", [["failed"], ["open"]])
async def test_what_is_open_or_holds_no_transcript_is_not_regraded(
    database: Database, tenant: Tenant, dataset: UUID, ratings: list[Rating]
) -> None:
    former = await evaluated(database, tenant.scope, dataset, ratings)
    async with database.session() as session:
        with pytest.raises(NothingToRegrade):
            await begin_regrade(session, tenant.scope, Graders(AGrader()), former, Regrade())
