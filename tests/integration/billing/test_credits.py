"""Credit, and the terms of plans."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest
from sqlalchemy import func, select

from parley.server.accounts.service import create_account
from parley.server.billing.credits import move_money
from parley.server.billing.plans import plan_of
from parley.server.db.database import Database
from parley.server.db.tables import Account, LedgerEntry
from parley.server.errors import InvalidRequest, NotFound
from parley.server.kit.ids import new_id
from tests.factories.accounts import Tenant


async def standing(database: Database, tenant: Tenant) -> tuple[Decimal, Decimal]:
    """Balance, and the sum of the ledger."""
    async with database.session() as session:
        balance = await session.scalar(select(Account.balance).where(Account.id == tenant.account_id))
        ledger = await session.scalar(
            select(func.sum(LedgerEntry.amount)).where(LedgerEntry.account_id == tenant.account_id)
        )
    assert balance is not None
    assert ledger is not None
    return balance, ledger


async def test_opening_credit_is_the_first_line(database: Database, tenant: Tenant) -> None:
    assert await standing(database, tenant) == (Decimal(100), Decimal(100))


async def test_balance_is_the_sum_of_the_ledger_under_parallel_fire(
    database: Database, tenant: Tenant
) -> None:
    """C188."""

    async def move(amount: str) -> None:
        async with database.session() as session:
            await move_money(session, tenant.account_id, Decimal(amount), "test")

    await asyncio.gather(*(move("-0.0000000015" if n % 2 else "1.1") for n in range(10)))
    expected = Decimal(100) + 5 * Decimal("1.1") - 5 * Decimal("0.000000002")
    assert await standing(database, tenant) == (expected, expected)


async def test_unknown_account_gets_nothing(database: Database) -> None:
    with pytest.raises(NotFound):
        async with database.session() as session:
            await move_money(session, new_id(), Decimal(1), "test")


async def test_unknown_plan_is_refused(database: Database) -> None:
    with pytest.raises(InvalidRequest) as caught:
        async with database.session() as session:
            await create_account(session, "x", "gold")
    assert caught.value.details[0]["field"] == "plan"


@pytest.mark.parametrize(
    ("plan", "per_minute", "concurrent", "multiplier"),
    [("free", 5, 1, "1.25"), ("pro", 30, 4, "1.05"), ("max", None, 8, "1.00")],
)
async def test_plans_are_those_of_the_contract(
    database: Database, plan: str, per_minute: int | None, concurrent: int, multiplier: str
) -> None:
    async with database.session() as session:
        account = await create_account(session, "x", plan)
        terms = await plan_of(session, account.id)
    assert (terms.runs_per_minute, terms.concurrent_runs) == (per_minute, concurrent)
    assert (terms.multiplier, terms.metered) == (Decimal(multiplier), True)
