"""Settlements that go together: each is true or not at all, whatever becomes of its neighbours."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from uuid import UUID

import asyncpg

from parley.engine.chat.pieces import Usage
from parley.server.billing.audit import audit_books
from parley.server.direct.account import CallEnd, DirectAccount
from parley.server.direct.settlements import Settlements
from parley.server.journal.keep import Charge
from parley.server.kit.ids import new_id
from tests.stage import Stage

CHARGE = Charge(amount=Decimal("0.25"), role="user", usage=Usage(model="m", prompt_tokens=3))


async def opened(stage: Stage, settlements: Settlements, account_id: UUID) -> DirectAccount:
    call_id = new_id()
    await stage.rows(
        "INSERT INTO direct_calls (account_id, id, lease_until) VALUES ($1, $2, now() + interval '1 minute')",
        account_id,
        call_id,
    )
    return DirectAccount(settlements, account_id, call_id)


async def test_neighbour_that_cannot_be_written_spoils_nobody(stage: Stage) -> None:
    settlements = Settlements(stage.services.database)
    [row] = await stage.rows("SELECT id, balance FROM accounts")
    calls = [await opened(stage, settlements, row["id"]) for _ in range(4)]
    for call in calls:
        call.spend(CHARGE)
    spoiled = calls.pop()
    spoiled.spend(Charge(amount=CHARGE.amount, role="no\x00one", usage=CHARGE.usage))
    results = await asyncio.gather(
        calls[0].settle(),
        calls[1].settle(CallEnd(outcome="success")),
        spoiled.settle(),
        calls[2].settle(),
        return_exceptions=True,
    )
    assert isinstance(results[2], asyncpg.PostgresError)
    assert all(
        one is not None and not isinstance(one, BaseException) for one in (results[0], results[1], results[3])
    )
    [after] = await stage.rows("SELECT balance FROM accounts")
    assert after["balance"] == row["balance"] - 3 * CHARGE.amount
    costs = await stage.rows("SELECT cost, state, outcome FROM direct_calls ORDER BY cost, state")
    assert [(one["cost"], one["state"], one["outcome"]) for one in costs] == [
        (0, "running", None),
        (CHARGE.amount, "ended", "success"),
        (CHARGE.amount, "running", None),
        (CHARGE.amount, "running", None),
    ]
    async with stage.services.database.session() as session:
        assert not await audit_books(session)


async def test_settlement_whose_answer_was_lost_is_not_paid_twice(stage: Stage) -> None:
    settlements = Settlements(stage.services.database)
    [row] = await stage.rows("SELECT id, balance FROM accounts")
    call = await opened(stage, settlements, row["id"])
    call.spend(CHARGE)
    values = call._values(None)
    assert await settlements.add(values) is not None
    assert await settlements.add(values) is None
    [after] = await stage.rows("SELECT balance FROM accounts")
    assert after["balance"] == row["balance"] - CHARGE.amount
