"""Runs of fifty accounts on four workers that keep being killed: slots, order and money hold."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import random
from typing import Any

import pytest

from parley.server.billing.audit import audit_books
from parley.server.config import DatabaseSettings, Settings, WorkerSettings
from parley.server.llm.demo import Rule, Say, opinion
from parley.server.operators.plans import edit_plan
from tests.factories.accounts import make_tenant
from tests.stage import GOAL, PATIENCE_S, Stage, StageWorker, client_of, make_gateway, until

ACCOUNTS = 50
WORKERS = 4
STARTERS = 6
"""Accounts that start their runs at once."""
PLANS = ("free", "pro", "max")
BODY: dict[str, Any] = {"name": "Boots", "goal": GOAL, "max_turns": 2, "profile": "low"}

_WATCH = """
CREATE TABLE slots_seen (account_id uuid, run_id uuid, held int);
CREATE FUNCTION note_slots() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO slots_seen
    SELECT NEW.account_id, NEW.id, count(*) FROM runs
     WHERE account_id = NEW.account_id AND state IN ('pending', 'running') AND admitted_at IS NOT NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER note_slots AFTER INSERT OR UPDATE OF state, admitted_at ON runs
   FOR EACH ROW EXECUTE FUNCTION note_slots();
"""


@pytest.fixture
async def database_url(fresh_database_url: str) -> str:
    """A database of its own: this test changes plans and watches a table."""
    return fresh_database_url


@pytest.fixture
def stage_settings(stage_settings: Settings) -> Settings:
    """Fewer connections: five processes share one server with other tests."""
    url = stage_settings.database.url
    return dataclasses.replace(
        stage_settings,
        database=DatabaseSettings(url=url, pool_size=4, pool_overflow=2, pool_timeout_s=30),
        # A lease that a busy machine lets run out by itself would be a fault of the machine's, not of ours.
        worker=WorkerSettings(lease_s=6, heartbeat_s=1, tick_s=0.2, shutdown_grace_s=5, concurrency=60),
    )


async def with_runs(stage: Stage, number: int, runs: int, turn: asyncio.Semaphore) -> None:
    """An account with so many runs, started as fast as they are taken."""
    tenant = await make_tenant(stage.services.database, f"Account {number}", plan=PLANS[(2 + number) % 3])
    async with turn, client_of(stage.url, tenant.auth) as http:
        gateway = await make_gateway(http, stage.llms)
        made = await http.post("/api/v1/agentic-tests", json=BODY | {"gateway": gateway["slug"]})
        path = f"/api/v1/agentic-tests/{made.json()['data']['id']}/runs"
        for _ in range(runs):
            answer = await http.post(path)
            assert answer.status_code == 202, answer.text


class Crowd:
    """Some workers. Whoever is killed is replaced by another one."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._workers: list[tuple[StageWorker, contextlib.AsyncExitStack]] = []

    async def __aenter__(self) -> Crowd:
        for _ in range(WORKERS):
            await self._join()
        return self

    async def __aexit__(self, *_: object) -> None:
        for _worker, opened in self._workers:
            await opened.aclose()

    async def _join(self) -> None:
        opened = contextlib.AsyncExitStack()
        self._workers.append((await opened.enter_async_context(self._stage.worker()), opened))

    async def keep_killing(self, kills: int) -> None:
        """Kill a worker now and then, without a word."""
        chance = random.Random(7)
        for _ in range(kills):
            await asyncio.sleep(chance.uniform(0.2, 1.0))
            victim, opened = self._workers.pop(chance.randrange(len(self._workers)))
            async with asyncio.timeout(4 * PATIENCE_S):
                await victim.kill()
                await opened.aclose()
            await self._join()


async def all_ended(stage: Stage) -> bool:
    return not await stage.rows("SELECT 1 FROM runs WHERE state IN ('pending', 'running') LIMIT 1")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("runs", "kills"), [(150, 5), (1_000, 20)], ids=["small", "whole"])
async def test_slots_order_and_books_hold_while_workers_are_killed(
    stage: Stage, runs: int, kills: int
) -> None:
    async with stage.services.database.session() as session:
        for plan in PLANS:
            await edit_plan(session, "command", plan, {"runs_per_minute": None})
    async with stage.services.database.raw() as connection:
        await connection.execute(_WATCH)
    stage.play(
        Rule((Say("Can the boots go back?", gap_ms=2),), part="user"),
        Rule((Say("Yes, within thirty days.", gap_ms=2),), part="assistant"),
        Rule((opinion(0.95),), part="judge"),
    )
    share = runs // (ACCOUNTS + 4)
    shares = [share + (runs - share * ACCOUNTS if number == 0 else 0) for number in range(ACCOUNTS)]
    async with Crowd(stage) as crowd:
        turn = asyncio.Semaphore(STARTERS)
        async with asyncio.TaskGroup() as group:
            group.create_task(crowd.keep_killing(kills))
            for number, count in enumerate(shares):
                group.create_task(with_runs(stage, number, count, turn))
        await until(lambda: all_ended(stage), timeout_s=600)
    await assert_nothing_was_lost(stage, runs)


async def assert_nothing_was_lost(stage: Stage, runs: int) -> None:
    states = await stage.rows("SELECT state, count(*) AS n FROM runs GROUP BY 1")
    assert [(row["state"], row["n"]) for row in states] == [("succeeded", runs)]
    crowded = await stage.rows(
        "SELECT seen.* FROM slots_seen AS seen JOIN accounts ON accounts.id = seen.account_id"
        " JOIN plans ON plans.code = accounts.plan WHERE seen.held > plans.concurrent_runs"
    )
    assert crowded == []
    full = await stage.rows(
        "SELECT DISTINCT plans.code FROM slots_seen AS seen JOIN accounts ON accounts.id = seen.account_id"
        " JOIN plans ON plans.code = accounts.plan WHERE seen.held = plans.concurrent_runs"
    )
    assert "free" in {row["code"] for row in full}, "accounts came up to their limit"
    overtaken = await stage.rows(
        "SELECT id FROM (SELECT id, admitted_at, lag(admitted_at) OVER (PARTITION BY account_id ORDER BY id)"
        " AS before FROM runs) AS admitted WHERE admitted_at < before"
    )
    assert overtaken == []
    async with stage.services.database.session() as session:
        assert await audit_books(session) == []
    [books] = await stage.rows("SELECT count(*) AS n, min(cost) AS least FROM runs WHERE cost > 0")
    assert books["n"] == runs
    apart = await stage.rows(
        "SELECT runs.id FROM runs JOIN ledger ON ledger.account_id = runs.account_id"
        " AND ledger.source_id = runs.id GROUP BY runs.account_id, runs.id"
        " HAVING runs.cost <> -sum(ledger.amount)"
    )
    assert apart == []
