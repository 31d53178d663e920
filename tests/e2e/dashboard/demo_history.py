"""A month of an account as a shop would have it, for the pictures in the docs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from parley.server.kit.ids import new_id
from parley.server.llm.demo import CallTool, Rule, Say, opinion
from parley.server.llm.demo.stories import Exchange, Story
from tests.factories.ended_runs import end_run, make_running
from tests.stage import Stage

TESTS = (
    ("Refund of a broken parcel", "ssslssll", "0 */4 * * *"),
    ("Opening hours on a holiday", "ssffffss", "30 6 * * *"),
    ("Change of address after dispatch", "sssssssf", "15 */6 * * *"),
    ("Discount code that has expired", "slllllll", "0 7 * * 1-5"),
    ("Two orders, one question", "ssssssss", None),
    ("Angry about a late delivery", "slssssss", "45 5 * * *"),
)
"""Name, the ends of its runs (success, loss, failed), schedule."""
DAYS = 30
ROLES = (
    ("user", "small-user", "0.0021"),
    ("assistant", "support-2", "0.0090"),
    ("judge", "small-judge", "0.0034"),
)


async def make_history(stage: Stage) -> None:
    """Tests with runs over the last days, one run under way, and what all of it cost."""
    account, database = stage.tenant.account_id, stage.services.database
    for name, ends, cron in TESTS:
        test_id = UUID(await stage.make_test(name=name, **({"cron": cron} if cron else {})))
        for letter in ends:
            await end_run(database, account, test_id, letter)
        await spread(stage, test_id)
        await charge(stage, test_id, ends)
    await make_running(database, account, test_id)


async def spread(stage: Stage, test_id: UUID) -> None:
    """Lay the test's runs some hours apart, in the order in which they were made."""
    async with stage.services.database.raw() as connection:
        await connection.execute(
            "UPDATE runs SET created_at = runs.created_at - back, started_at = runs.created_at - back,"
            " finished_at = runs.created_at - back + interval '48 seconds'"
            " FROM (SELECT id, (row_number() OVER (ORDER BY id DESC) * 5 - 3) * interval '1 hour' AS back"
            "         FROM runs WHERE test_id = $1) AS placed"
            " WHERE runs.id = placed.id",
            test_id,
        )


async def charge(stage: Stage, test_id: UUID, ends: str) -> None:
    """Charges on each day; busier weeks cost more."""
    now = datetime.now(UTC)
    rows = [
        (
            stage.tenant.account_id,
            new_id(),
            -Decimal(price) * (40 + 7 * (day * len(ends) % 11) + day % 7 * 9),
            role,
            llm,
            test_id,
            now - timedelta(days=day, minutes=5),
        )
        for day in range(DAYS)
        for role, llm, price in ROLES
    ]
    async with stage.services.database.raw() as connection:
        await connection.executemany(
            "INSERT INTO ledger (account_id, source, source_id, seq, amount, role, llm, test_id,"
            " prompt_tokens, completion_tokens, created_at)"
            " VALUES ($1, 'run', $2, 1, $3, $4, $5, $6, 9400, 610, $7)",
            rows,
        )


def rules_of(story: Story) -> Iterator[Rule]:
    """A demo story as a script of the stage's llms."""
    for turn, exchange in enumerate(story.exchanges, start=1):
        yield Rule((Say(exchange.customer),), part="user", turn=turn)
        yield from _answer(exchange, turn)
        yield Rule((opinion(exchange.score, exchange.opinion),), part="judge", turn=turn)


def _answer(exchange: Exchange, turn: int) -> Iterator[Rule]:
    if exchange.lookup:
        arguments = f'{{"order_number": "{exchange.lookup.order_number}"}}'
        call = CallTool("lookup_order", arguments, text=exchange.lookup.said_before)
        yield Rule((call,), part="assistant", turn=turn, after_tool=False)
    yield Rule((Say(exchange.shop),), part="assistant", turn=turn)
