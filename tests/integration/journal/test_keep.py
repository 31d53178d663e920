"""Keeping entries: fenced by the lease, once each, with their charge or not at all."""

from __future__ import annotations

import asyncio
import dataclasses
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest

from parley.engine.chat.pieces import Usage
from parley.engine.events import Ended, Failure, Opinion, Timing, UserSpoke, Verdict
from parley.engine.messages import Text
from parley.engine.state import fold
from parley.server.journal.keep import Charge, LeaseLost
from parley.server.runs.cancel import Canceller
from parley.server.runs.claim import Claimed, cancelled_among, claim, due, release, renew
from parley.server.runs.finish import finish
from tests.stage import Stage

USAGE = Usage(model="user", prompt_tokens=10, completion_tokens=2)
CHARGE = Charge(amount=Decimal("0.000000123"), role="user", usage=USAGE)
TIMING = Timing(at_ms=1_800_000_000_000, took_ms=5)
SPOKEN = UserSpoke(turn=1, parts=(Text(text="Hello \u2028 \U0001f600"),), usage=USAGE, timing=TIMING)
VERDICT = Verdict(
    outcome="incomplete",
    reason="max_turns_reached",
    state="max_turns",
    turn_number=1,
    score=None,
    conversation_delta=Decimal("0.5"),
    loss_streak=0,
)
ENDED = Ended(at_ms=1_800_000_000_001, verdict=VERDICT)


async def claimed(stage: Stage, lease_s: float = 30) -> Claimed:
    """A run in our hands."""
    path = await stage.start(await stage.make_test())
    found = await claim(stage.services.database, UUID(path[-36:]), lease_s)
    assert found is not None
    return found


async def facts(stage: Stage) -> dict[str, Any]:
    [row] = await stage.rows(
        "SELECT last_seq, turn, cost, state, (SELECT count(*) FROM entries) AS entries,"
        " (SELECT count(*) FROM ledger WHERE source = 'run') AS charges,"
        " (SELECT balance FROM accounts) AS balance, (SELECT sum(amount) FROM ledger) AS booked FROM runs"
    )
    assert row["balance"] == row.pop("booked")
    return row


async def test_entry_charge_totals_and_balance_are_written_together(stage: Stage) -> None:
    run, journal = await claimed(stage), stage.services.journal
    standing = await journal.keep(run.lease, 1, SPOKEN, CHARGE)
    assert standing.balance == Decimal(100) - CHARGE.amount
    assert await facts(stage) == {
        "last_seq": 1,
        "turn": 1,
        "cost": CHARGE.amount,
        "state": "running",
        "entries": 1,
        "charges": 1,
        "balance": Decimal(100) - CHARGE.amount,
    }
    assert await journal.read(run.lease.account_id, run.lease.run_id) == [SPOKEN]
    assert await journal.read(run.lease.account_id, run.lease.run_id, after_seq=1) == []
    assert await journal.read(uuid4(), run.lease.run_id) == [], "another account reads nothing"


async def test_repeated_keep_changes_nothing(stage: Stage) -> None:
    run = await claimed(stage)
    first = await stage.services.journal.keep(run.lease, 1, SPOKEN, CHARGE)
    before = await facts(stage)
    again = await asyncio.gather(
        *(stage.services.journal.keep(run.lease, 1, SPOKEN, CHARGE) for _ in range(4))
    )
    assert again == [first] * 4
    assert await facts(stage) == before


@pytest.mark.parametrize("seq", [0, 2, 3])
async def test_entry_out_of_order_is_refused(stage: Stage, seq: int) -> None:
    run = await claimed(stage)
    with pytest.raises(LeaseLost):
        await stage.services.journal.keep(run.lease, seq if seq else -1, SPOKEN, CHARGE)
    assert (await facts(stage))["entries"] == 0


async def test_foreign_lease_writes_nothing(stage: Stage) -> None:
    run = await claimed(stage)
    for lease in (
        dataclasses.replace(run.lease, token=uuid4()),
        dataclasses.replace(run.lease, account_id=uuid4()),
        dataclasses.replace(run.lease, run_id=uuid4()),
    ):
        with pytest.raises(LeaseLost):
            await stage.services.journal.keep(lease, 1, SPOKEN, CHARGE)
        with pytest.raises(LeaseLost):
            await finish(stage.services.database, lease, fold([]), ENDED)
    assert (await facts(stage))["balance"] == 100


async def test_entry_after_the_end_is_refused(stage: Stage) -> None:
    run = await claimed(stage)
    await finish(stage.services.database, run.lease, fold([]), ENDED)
    with pytest.raises(LeaseLost):
        await stage.services.journal.keep(run.lease, 2, SPOKEN, CHARGE)


async def test_parallel_keeps_of_two_runs_lose_no_cent(stage: Stage) -> None:
    runs = [await claimed(stage) for _ in range(4)]

    async def keep_many(run: Claimed) -> None:
        for seq in range(1, 11):
            await stage.services.journal.keep(run.lease, seq, SPOKEN, CHARGE)

    await asyncio.gather(*map(keep_many, runs))
    [row] = await stage.rows("SELECT balance, (SELECT sum(amount) FROM ledger) AS booked FROM accounts")
    assert row["balance"] == row["booked"] == Decimal(100) - 40 * CHARGE.amount


@pytest.mark.parametrize("score", ["NaN", "Infinity", "-Infinity"])
async def test_number_that_is_none_is_refused_loudly(stage: Stage, score: str) -> None:
    """C178"""
    run = await claimed(stage)
    opinion = Opinion(
        turn=1,
        reasoning="x",
        score=Decimal(score),
        turn_delta=Decimal(0),
        conversation_delta=Decimal("0.5"),
        loss_streak=0,
        required_loss_streak=2,
        state="active",
        passed=True,
        should_continue=True,
        usage=USAGE,
        timing=TIMING,
    )
    with pytest.raises(ValueError, match="finite"):
        await stage.services.journal.keep(run.lease, 1, opinion, None)
    assert (await facts(stage))["entries"] == 0


async def test_end_is_written_once_and_repeating_it_changes_nothing(stage: Stage) -> None:
    run = await claimed(stage)
    assert await finish(stage.services.database, run.lease, fold([]), ENDED) == ENDED
    assert await finish(stage.services.database, run.lease, fold([]), ENDED) == ENDED
    other = Ended(
        at_ms=ENDED.at_ms + 1,
        failure=Failure(code="time_limit", message="x", scope="user_inference", turn=0),
    )
    with pytest.raises(LeaseLost):
        await finish(stage.services.database, run.lease, fold([]), other)
    row = await facts(stage)
    assert (row["state"], row["entries"], row["last_seq"]) == ("succeeded", 1, 1)


async def test_cancellation_that_came_first_wins_over_the_end(stage: Stage) -> None:
    run = await claimed(stage)
    await ask_to_cancel(stage, run)
    written = await finish(stage.services.database, run.lease, fold([]), ENDED)
    assert written.cancelled
    assert (await facts(stage))["state"] == "cancelled"
    again = await finish(stage.services.database, run.lease, fold([]), ENDED)
    assert again.cancelled, "a repeated call tells what was written"


async def test_end_that_came_first_wins_over_the_cancellation(stage: Stage) -> None:
    run = await claimed(stage)
    await finish(stage.services.database, run.lease, fold([]), ENDED)
    assert await ask_to_cancel(stage, run) is False
    assert (await facts(stage))["state"] == "succeeded"


async def ask_to_cancel(stage: Stage, run: Claimed) -> bool:
    [row] = await stage.rows("SELECT test_id FROM runs")
    canceller: Canceller = stage.services.canceller
    async with stage.services.database.session() as session:
        _, was_open = await canceller.cancel(session, stage.tenant.scope, row["test_id"], run.lease.run_id)
    return was_open


async def test_cancellation_is_told_with_the_next_entry_and_to_the_heartbeat(stage: Stage) -> None:
    run = await claimed(stage)
    assert await cancelled_among(stage.services.database, [run.lease.run_id]) == set()
    await ask_to_cancel(stage, run)
    assert await cancelled_among(stage.services.database, [run.lease.run_id]) == {run.lease.run_id}
    standing = await stage.services.journal.keep(run.lease, 1, SPOKEN, CHARGE)
    assert standing.cancel_requested


class TestClaim:
    """Who may have a run."""

    async def test_run_goes_to_exactly_one_of_many(self, stage: Stage) -> None:
        path = await stage.start(await stage.make_test())
        found = await asyncio.gather(
            *(claim(stage.services.database, UUID(path[-36:]), 30) for _ in range(8))
        )
        assert sum(one is not None for one in found) == 1

    async def test_held_run_is_not_to_be_had_and_a_released_one_is(self, stage: Stage) -> None:
        run, database = await claimed(stage), stage.services.database
        run_id = run.lease.run_id
        assert await claim(database, run_id, 30) is None
        assert await due(database, 10, 0) == []
        await release(database, run.lease)
        assert await due(database, 10, 0) == [run_id]
        again = await claim(database, run_id, 30)
        assert again is not None
        assert not again.taken_over
        with pytest.raises(LeaseLost):
            await stage.services.journal.keep(run.lease, 1, SPOKEN, CHARGE)

    async def test_lease_that_ends_is_a_takeover(self, stage: Stage) -> None:
        run, database = await claimed(stage, lease_s=0.05), stage.services.database
        await asyncio.sleep(0.1)
        assert await due(database, 10, 0) == [run.lease.run_id]
        again = await claim(database, run.lease.run_id, 30)
        assert again is not None
        assert again.taken_over
        assert await renew(database, [run.lease], 30) == set()
        await release(database, run.lease)
        assert await claim(database, run.lease.run_id, 30) is None, "the old lease releases nothing"

    async def test_renewed_lease_holds(self, stage: Stage) -> None:
        run, database = await claimed(stage, lease_s=0.2), stage.services.database
        assert await renew(database, [run.lease], 30) == {run.lease.run_id}
        await asyncio.sleep(0.25)
        assert await claim(database, run.lease.run_id, 30) is None

    async def test_run_without_a_slot_is_not_to_be_had(self, stage: Stage) -> None:
        path = await stage.start(await stage.make_test())
        async with stage.services.database.raw() as connection:
            await connection.execute("UPDATE runs SET admitted_at = NULL")
        assert await claim(stage.services.database, UUID(path[-36:]), 30) is None
