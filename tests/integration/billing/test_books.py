"""Money while conversations are held: books that balance, suspended accounts, plans that charge nothing."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from parley.server.billing.audit import audit_books
from parley.server.billing.credits import move_money
from parley.server.llm.demo import Rule, Say, opinion
from parley.server.operators.accounts import set_status
from parley.server.operators.plans import edit_plan
from tests.stage import Stage, until

PLAIN: dict[str, Any] = {"max_turns": 2, "profile": "low"}
SUCCESS = Rule((opinion(0.95),), part="judge")


@pytest.fixture
async def database_url(fresh_database_url: str) -> str:
    """A database of its own: plans are edited here."""
    return fresh_database_url


async def ledger(stage: Stage) -> list[dict[str, Any]]:
    return await stage.rows("SELECT * FROM ledger WHERE role IS NOT NULL")


async def assert_books_balance(stage: Stage) -> None:
    async with stage.services.database.session() as session:
        assert await audit_books(session) == []


async def test_sum_of_the_ledger_is_the_balance_under_parallel_load(stage: Stage) -> None:
    """C188"""
    stage.play(SUCCESS)
    test_id = await stage.make_test(**PLAIN)

    async def credit() -> None:
        async with stage.services.database.session() as session:
            await move_money(session, stage.tenant.account_id, Decimal("0.000000001"), "test")

    async def run() -> None:
        assert (await stage.finished(await stage.start(test_id)))["state"] == "succeeded"

    async def direct() -> None:
        assert (await stage.evaluated(**PLAIN)).status == 200

    async with stage.worker(), stage.worker():
        await asyncio.gather(*(work() for _ in range(6) for work in (run, direct, credit, credit)))
        await until(lambda: settled(stage))
    assert len(await ledger(stage)) == 6 * 3 + 6 * 3
    await assert_books_balance(stage)


async def settled(stage: Stage) -> bool:
    return not await stage.rows("SELECT 1 FROM direct_calls WHERE state = 'running'")


async def test_account_that_is_suspended_while_it_runs_ends_before_the_next_turn(stage: Stage) -> None:
    stage.play(
        Rule((Say("Yes, within thirty days.", gap_ms=100),), part="assistant"),
        Rule((opinion(0.5),), part="judge"),
    )
    path = await stage.start(await stage.make_test(max_turns=5, profile="low"))
    async with stage.worker() as worker:
        await until(lambda: stage.llms.stats.by_llm.get("assistant"))
        async with stage.services.database.session() as session:
            await set_status(session, "command", stage.tenant.account_id, "suspended")
        await until(lambda: worker.held == 0)
    [run] = await stage.rows("SELECT state, error, turn, cost FROM runs")
    assert (run["state"], run["turn"]) == ("failed", 1)
    assert '"account_suspended"' in str(run["error"]).replace("'", '"')
    assert run["cost"] > 0, "the begun turn was finished, and is charged"
    assert path
    await assert_books_balance(stage)


async def test_unmetered_plan_starts_without_credit_and_keeps_usage_at_no_cost(stage: Stage) -> None:
    async with stage.services.database.session() as session:
        await edit_plan(session, "command", "max", {"metered": False})
        await move_money(session, stage.tenant.account_id, Decimal(-100), "spent", "adjustment")
    stage.play(SUCCESS)
    path = await stage.start(await stage.make_test(**PLAIN))
    async with stage.worker():
        run = await stage.finished(path)
    assert (run["state"], run["cost"]) == ("succeeded", 0)
    charges = await ledger(stage)
    assert [charge["amount"] for charge in charges] == [0, 0, 0]
    assert all(charge["prompt_tokens"] > 0 for charge in charges)
    usage = await stage.read("/api/v1/information/usage")
    assert (usage["total"]["inferences"], usage["total"]["cost"]) == (3, 0)
    assert (await stage.read("/api/v1/information/balance"))["metered"] is False


async def test_balance_that_is_used_up_ends_the_run_at_its_next_turn(stage: Stage) -> None:
    """C186"""
    stage.play(Rule((opinion(0.5),), part="judge"))
    async with stage.services.database.session() as session:
        await move_money(session, stage.tenant.account_id, Decimal("-99.999999999"), "spent", "adjustment")
    path = await stage.start(await stage.make_test(max_turns=5, profile="low"))
    async with stage.worker():
        run = await stage.finished(path)
    assert (run["state"], run["error"]["code"]) == ("failed", "balance_exhausted")
    turns = {line["turn"] for line in run["conversation"]}
    assert turns == {1}, "the overdraft is one turn"
    answer = await stage.http.post(path.rpartition("/")[0])
    assert answer.status_code == 402
    await assert_books_balance(stage)
