from __future__ import annotations

import asyncio
import random
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from parley.server.db.database import Database
from parley.server.errors import EvaluationClosed, NotFound
from parley.server.evaluations import results
from parley.server.evaluations.finish import close, finalize
from parley.server.evaluations.new import NewResult, Score
from parley.server.evaluations.read import live_statistics
from parley.server.kit.ids import new_id
from tests.factories.accounts import Tenant
from tests.factories.evaluations import keep, make_dataset, open_evaluation, stored


@pytest.fixture
async def evaluation(database: Database, tenant: Tenant) -> UUID:
    return await open_evaluation(
        database, tenant.scope, await make_dataset(database, tenant.scope), 10, repetitions=2
    )


def result(case: int, repetition: int = 1, key: str | None = None, **more: Any) -> NewResult:
    return NewResult(
        id=new_id(), case_id=f"c{case}", repetition=repetition, key=key or f"{case}/{repetition}", **more
    )


async def test_first_write_wins_between_racing_batches(
    database: Database, tenant: Tenant, evaluation: UUID
) -> None:
    places = [(case, repetition) for case in range(10) for repetition in (1, 2)]
    order = random.Random(7)

    async def batch() -> results.Kept:
        new = [result(*place) for place in order.sample(places, len(places))]
        async with database.session() as session:
            return await results.keep(session, tenant.scope, evaluation, new)

    kept = await asyncio.gather(*(batch() for _ in range(6)))
    accepted = {each.key: each.id for found in kept for each in found.accepted}
    assert sorted(len(found.accepted) for found in kept) == [0, 0, 0, 0, 0, 20]
    assert len(accepted) == 20
    for found in kept:
        assert all(accepted[new.key] == before for new, before in found.duplicates)
        assert len(found.accepted) + len(found.duplicates) == 20


async def test_place_that_is_taken_under_another_key_is_told_apart(
    database: Database, tenant: Tenant, evaluation: UUID
) -> None:
    async with database.session() as session:
        await results.keep(session, tenant.scope, evaluation, [result(0, key="first")])
        again = [result(0, key="first"), result(0, key="other"), result(1, key="new")]
        found = await results.keep(session, tenant.scope, evaluation, again)
    assert [new.key for new in found.accepted] == ["new"]
    assert [new.key for new, _ in found.duplicates] == ["first"]
    assert [new.key for new in found.taken] == ["other"]


async def test_key_given_twice_in_one_batch_is_kept_once(
    database: Database, tenant: Tenant, evaluation: UUID
) -> None:
    async with database.session() as session:
        found = await results.keep(
            session, tenant.scope, evaluation, [result(0, key="a"), result(1, key="a")]
        )
    assert (len(found.accepted), len(found.duplicates), found.taken) == (1, 1, ())


async def test_missing_places_are_told_in_the_order_of_the_cases(
    database: Database, tenant: Tenant, evaluation: UUID
) -> None:
    await keep(database, tenant.scope, evaluation, [[9, 9], [9], *[[9, 9]] * 7, ["open", None]])
    async with database.session() as session:
        row = await results.take_hold(session, tenant.scope, evaluation)
        owed = await results.missing(session, tenant.scope, row)
    assert owed == [results.Place("c1", 1, 2)]


@pytest.mark.parametrize("state", ["scoring", "completed", "cancelled"])
async def test_closed_evaluation_takes_nothing_more(
    database: Database, tenant: Tenant, evaluation: UUID, state: str
) -> None:
    await keep(database, tenant.scope, evaluation, ["open" if state == "scoring" else 9])
    async with database.session() as session:
        if state == "cancelled":
            await close(session, tenant.scope, evaluation, "cancelled", "cancelled", "It was cancelled.")
        else:
            await finalize(session, tenant.scope, evaluation)
    with pytest.raises(EvaluationClosed) as refused:
        await keep(database, tenant.scope, evaluation, [[9, 9]])
    assert refused.value.details == {"state": state}


async def test_foreign_evaluation_is_unknown_and_a_foreign_case_is_a_fault(
    database: Database, tenant: Tenant, stranger: Tenant, evaluation: UUID
) -> None:
    with pytest.raises(NotFound):
        await keep(database, stranger.scope, evaluation, [9])
    async with database.session() as session:
        with pytest.raises(ValueError, match="not cases of this evaluation"):
            await results.keep(session, tenant.scope, evaluation, [result(99)])


async def test_finalized_with_results_missing_it_completes_and_tells_its_coverage(
    database: Database, tenant: Tenant, evaluation: UUID
) -> None:
    await keep(database, tenant.scope, evaluation, [9])
    async with database.session() as session:
        row = await finalize(session, tenant.scope, evaluation)
        assert row.state == "completed"
        told = await live_statistics(session, tenant.scope, row)
    assert (float(told.coverage), told.expected_count, told.result_count) == (0.05, 20, 1)


async def test_finalizing_again_changes_nothing(database: Database, tenant: Tenant, evaluation: UUID) -> None:
    await keep(database, tenant.scope, evaluation, [9])
    rows = []
    for _ in range(2):
        async with database.session() as session:
            await finalize(session, tenant.scope, evaluation)
        rows.append(await stored(database, tenant.scope, evaluation))
    assert rows[0].completed_at == rows[1].completed_at


@pytest.mark.parametrize(
    "shape",
    [
        {"status": "rated"},
        {"status": "rated", "rating": 9},
        {"status": "failed", "rating": 1, "passed": False},
        {"status": "failed", "rating": 0, "passed": True},
        {"status": "skipped", "rating": 0, "passed": False},
        {"status": "rated", "rating": 11, "passed": True},
        {"status": "rated", "rating": "NaN", "passed": True},
    ],
)
def test_score_of_no_known_shape_is_refused(shape: dict[str, Any]) -> None:
    if "rating" in shape:
        shape = {**shape, "rating": Decimal(shape["rating"])}
    with pytest.raises(ValueError, match=r"does not look|0\.\.10|the rating 0"):
        Score(**shape)
