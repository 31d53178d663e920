from __future__ import annotations

import asyncio
from collections.abc import Sequence
from decimal import Decimal
from uuid import UUID

import pytest

from parley.server.db.database import Database
from parley.server.evaluations import scoring
from parley.server.evaluations.finish import Expiry, close, finalize
from parley.server.evaluations.new import Score
from parley.server.evaluations.scoring import MOST_ATTEMPTS, Claimed
from tests.factories.accounts import Tenant
from tests.factories.evaluations import evaluated, keep, make_dataset, open_evaluation, stored

GOOD = Score(status="rated", rating=Decimal(9), passed=True, cost_usd=Decimal("0.01"))


@pytest.fixture
async def dataset(database: Database, tenant: Tenant) -> UUID:
    return await make_dataset(database, tenant.scope)


async def claimed(database: Database, limit: int = 100, lease_s: float = 60) -> list[Claimed]:
    async with database.session() as session:
        return await scoring.claim(session, limit, lease_s)


async def end(database: Database, held: Claimed, score: Score = GOOD) -> bool:
    async with database.session() as session:
        row = await scoring.score(session, held.scope, held.evaluation_id, held.result_id, score, held=held)
        return row is not None


async def run_out(database: Database, held: Sequence[Claimed]) -> None:
    async with database.raw() as connection:
        await connection.execute(
            "UPDATE case_results SET lease_until = now() - interval '1 s' WHERE id = ANY($1)",
            [each.result_id for each in held],
        )


async def test_waiting_results_go_to_one_scorer_each(
    database: Database, tenant: Tenant, dataset: UUID
) -> None:
    await evaluated(database, tenant.scope, dataset, ["open"] * 20)
    taken = await asyncio.gather(*(claimed(database, limit=8) for _ in range(4)))
    ids = [held.result_id for each in taken for held in each]
    assert len(ids) == len(set(ids)) <= 20
    rest = await claimed(database)
    assert len(ids) + len(rest) == 20


async def test_last_score_completes_the_evaluation_once_whoever_gives_it(
    database: Database, tenant: Tenant, dataset: UUID
) -> None:
    made = await evaluated(database, tenant.scope, dataset, ["open"] * 12)
    assert (await stored(database, tenant.scope, made)).state == "scoring"
    held = await claimed(database)
    assert all(await asyncio.gather(*(end(database, each) for each in held)))
    row = await stored(database, tenant.scope, made)
    assert (row.state, row.rated_count, row.cost) == ("completed", 12, Decimal("0.12"))
    assert row.statistics is not None
    assert row.statistics["average_rating"] == 9


async def test_scores_before_finalizing_do_not_complete_it(
    database: Database, tenant: Tenant, dataset: UUID
) -> None:
    made = await open_evaluation(database, tenant.scope, dataset)
    await keep(database, tenant.scope, made, ["open"])
    [held] = await claimed(database)
    assert await end(database, held)
    assert (await stored(database, tenant.scope, made)).state == "in_progress"


async def test_lost_lease_scores_nothing(database: Database, tenant: Tenant, dataset: UUID) -> None:
    made = await evaluated(database, tenant.scope, dataset, ["open"])
    [first] = await claimed(database)
    assert await claimed(database) == []
    await run_out(database, [first])
    [second] = await claimed(database)
    assert (second.result_id, second.attempts) == (first.result_id, 2)
    assert not await end(database, first)
    assert await end(database, second)
    assert not await end(database, second)
    assert (await stored(database, tenant.scope, made)).cost == Decimal("0.01")


async def test_lease_is_renewed_by_its_holder_alone(
    database: Database, tenant: Tenant, dataset: UUID
) -> None:
    await evaluated(database, tenant.scope, dataset, ["open"])
    [first] = await claimed(database)
    await run_out(database, [first])
    [second] = await claimed(database)
    async with database.session() as session:
        assert not await scoring.renew(session, first, 60)
        assert await scoring.renew(session, second, 60)


async def test_released_result_waits_again_and_the_attempt_does_not_count(
    database: Database, tenant: Tenant, dataset: UUID
) -> None:
    await evaluated(database, tenant.scope, dataset, ["open"])
    for _ in range(MOST_ATTEMPTS + 2):
        [held] = await claimed(database)
        assert (held.attempts, held.is_worn_out) == (1, False)
        async with database.session() as session:
            await scoring.release(session, held)


async def test_result_over_which_scorers_are_lost_again_and_again_is_worn_out(
    database: Database, tenant: Tenant, dataset: UUID
) -> None:
    await evaluated(database, tenant.scope, dataset, ["open"])
    worn = []
    for _ in range(MOST_ATTEMPTS + 1):
        [held] = await claimed(database)
        worn.append(held.is_worn_out)
        await run_out(database, [held])
    assert worn == [False] * MOST_ATTEMPTS + [True]


async def test_cancel_takes_results_out_of_their_scorers_hands(
    database: Database, tenant: Tenant, dataset: UUID
) -> None:
    made = await evaluated(database, tenant.scope, dataset, ["open", "open"])
    held = await claimed(database)
    async with database.session() as session:
        await close(session, tenant.scope, made, "cancelled", "cancelled", "It was cancelled.")
    assert not any([await end(database, each) for each in held])
    row = await stored(database, tenant.scope, made)
    assert (row.state, row.completed_at, row.error) == (
        "cancelled",
        None,
        {"code": "cancelled", "message": "It was cancelled."},
    )


async def test_accounts_take_turns(
    database: Database, tenant: Tenant, stranger: Tenant, dataset: UUID
) -> None:
    await evaluated(database, tenant.scope, dataset, ["open"] * 10)
    other = await make_dataset(database, stranger.scope)
    await evaluated(database, stranger.scope, other, ["open"])
    assert {held.account_id for held in await claimed(database, limit=2)} == {
        tenant.account_id,
        stranger.account_id,
    }


async def test_expired_evaluation_never_completes(database: Database, tenant: Tenant, dataset: UUID) -> None:
    late = await open_evaluation(database, tenant.scope, dataset)
    await keep(database, tenant.scope, late, [9, "open"])
    [held] = await claimed(database)
    young = await open_evaluation(database, tenant.scope, dataset)
    async with database.raw() as connection:
        await connection.execute(
            "UPDATE evaluations SET expires_at = now() - interval '1 s' WHERE id = $1", late
        )
    expiry = Expiry(database, tick_s=1)
    assert sum(await asyncio.gather(expiry.once(), expiry.once())) == 1
    assert not await end(database, held)
    async with database.session() as session:
        assert (await finalize(session, tenant.scope, late)).state == "expired"
    row = await stored(database, tenant.scope, late)
    assert (row.state, row.completed_at) == ("expired", None)
    assert (await stored(database, tenant.scope, young)).state == "in_progress"


async def test_parallel_finalizing_completes_once(database: Database, tenant: Tenant, dataset: UUID) -> None:
    made = await open_evaluation(database, tenant.scope, dataset)
    await keep(database, tenant.scope, made, [9, 8])

    async def once() -> str:
        async with database.session() as session:
            return (await finalize(session, tenant.scope, made)).state

    assert await asyncio.gather(*(once() for _ in range(5))) == ["completed"] * 5
