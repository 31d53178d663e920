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
    ("Refund of a broken parcel", "ssslssll", "0 */6 * * *", 5),
    ("Opening hours on a holiday", "ssssfffs", "30 6 * * *", 1),
    ("Change of address after dispatch", "sssssssf", "15 */6 * * *", 4),
    ("Discount code that has expired", "sslsllll", "0 7 * * 1-5", 2),
    ("Two orders, one question", "ssssslss", None, 2),
    ("Angry about a late delivery", "slssssss", "45 5 * * *", 3),
)
"""Name, the ends of its runs (success, loss, failed), schedule, and how dear it is beside the others."""
DAYS = 30
ROLES = (
    ("user", "small-user", "0.0021"),
    ("assistant", "support-2", "0.0090"),
    ("judge", "small-judge", "0.0034"),
)


async def make_history(stage: Stage) -> None:
    """Tests with runs over the last days, and what all of it cost."""
    for name, ends, cron, dearness in TESTS:
        test_id = UUID(await stage.make_test(name=name, **({"cron": cron} if cron else {})))
        await make_ends(stage, test_id, ends)
        await charge(stage, test_id, dearness)


async def begin_run(stage: Stage, name: str) -> None:
    """A run under way, of the test of this name."""
    [test] = (await stage.http.get("/api/v1/agentic-tests", params={"search": name})).json()["data"]
    await make_running(stage.services.database, stage.tenant.account_id, UUID(test["id"]))


async def make_ends(stage: Stage, test_id: UUID, ends: str) -> None:
    """Runs that ended in these ways, over the last days."""
    for letter in ends:
        await end_run(stage.services.database, stage.tenant.account_id, test_id, letter)
    await spread(stage, test_id)


async def spread(stage: Stage, test_id: UUID) -> None:
    """Lay the test's runs some hours apart, in the order in which they were made, and give them scores."""
    async with stage.services.database.raw() as connection:
        await connection.execute(
            "UPDATE runs SET created_at = runs.created_at - back, started_at = runs.created_at - back,"
            " finished_at = runs.created_at - back + interval '48 seconds',"
            " score = CASE outcome WHEN 'success' THEN 1 - place % 4 * 0.06"
            "                      WHEN 'loss' THEN 0.05 + place % 3 * 0.07 END"
            " FROM (SELECT id, row_number() OVER (ORDER BY id DESC) AS place,"
            "              (row_number() OVER (ORDER BY id DESC) * 5 - 3) * interval '1 hour' AS back"
            "         FROM runs WHERE test_id = $1) AS placed"
            " WHERE runs.id = placed.id",
            test_id,
        )


async def charge(stage: Stage, test_id: UUID, dearness: int) -> None:
    """Charges on each day; busier weeks cost more."""
    now = datetime.now(UTC)
    rows = [
        (
            stage.tenant.account_id,
            new_id(),
            -Decimal(price) * dearness * (6 + day * (dearness + 4) % 11 + day % 7),
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
