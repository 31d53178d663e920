"""Starts and their quota: exactly the limit, one window for everything, nothing left of the refused."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from collections import Counter
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import httpx
import pytest

from parley.engine.chat import retry
from parley.server.billing.credits import move_money
from parley.server.config import Settings
from parley.server.errors import IntegratedLimitReached, InvalidRequest, QuotaExhausted
from parley.server.kit.ids import new_id
from parley.server.llm.demo import Hang, Rule, opinion
from parley.server.llm.endpoint import LlmEndpoint
from parley.server.llm.integrated import IntegratedLlm
from parley.server.llm.prices import Prices
from parley.server.quotas.gate import Wanted, enter, spend
from tests.factories.accounts import bearer, make_key
from tests.stage import DIRECT, GOAL, Stage, client_of, open_stage, until

PLAIN: dict[str, Any] = {"max_turns": 2, "profile": "low"}
SUCCESS = Rule((opinion(0.95),), part="judge")
A_TEST = Wanted(resources=0, is_integrated=False)


@pytest.fixture
async def free(stage_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    """A stage whose account is on plan free: five starts a minute, one slot.

    Two hundred starts stand in one line for ten connections; on a slow machine that takes a while.
    """
    monkeypatch.setattr(retry, "BASE_S", 0.02)
    patient = stage_settings.database.model_copy(update={"pool_timeout_s": 50.0})
    async with open_stage(dataclasses.replace(stage_settings, database=patient), plan="free") as stage:
        yield stage


async def start(client: httpx.AsyncClient, test_id: str) -> httpx.Response:
    path = f"/api/v1/agentic-tests/{test_id}/runs"
    return await client.post(path, headers={"Idempotency-Key": str(new_id())})


async def evaluate(stage: Stage, client: httpx.AsyncClient) -> httpx.Response:
    """A direct evaluation, left as soon as it is clear whether it began."""
    body = {"model": stage.gateway["slug"], "goal": GOAL, **PLAIN}
    async with client.stream("POST", DIRECT, json=body) as answer:
        if answer.status_code != 200:
            await answer.aread()
        return answer


async def count(stage: Stage, table: str) -> int:
    [row] = await stage.rows(f"SELECT count(*) AS n FROM {table}")
    found: int = row["n"]
    return found


async def test_parallel_fire_spends_exactly_the_limit_and_leaves_nothing_of_the_refused(free: Stage) -> None:
    """C195"""
    free.play(Rule((Hang(30),), part="user"))
    test_id = await free.make_test(**PLAIN)
    keys = [await make_key(free.services.database, free.tenant.account_id) for _ in range(3)]
    clients = itertools.cycle([client_of(free.url, bearer(key.token)) for key in keys])
    fire = [
        start(next(clients), test_id) if shot % 2 else evaluate(free, next(clients)) for shot in range(200)
    ]
    answers = await asyncio.gather(*fire)
    codes = Counter(answer.status_code for answer in answers)
    assert codes[202] + codes[200] == 5
    assert codes[429] == 195
    refused = [answer for answer in answers if answer.status_code == 429]
    for answer in refused:
        assert answer.json()["code"] in {"quota_exhausted", "concurrency_exhausted"}
        assert set(answer.json()) == {"error", "code", "details"}
        assert 1 <= int(answer.headers["retry-after"]) <= 61
    assert await count(free, "quota_units") == 5
    assert await count(free, "runs") == codes[202]
    assert await count(free, "direct_calls") == codes[200]
    assert await count(free, "idempotency_keys") == codes[202]
    await until(lambda: nothing_open(free))
    direct_ids = {row["id"] for row in await free.rows("SELECT id FROM direct_calls")}
    charged = await free.rows("SELECT source, source_id FROM ledger WHERE source <> 'credit'")
    assert {row["source_id"] for row in charged} <= direct_ids
    for _ in range(3):
        await next(clients).aclose()


async def nothing_open(stage: Stage) -> bool:
    return not await stage.rows("SELECT id FROM direct_calls WHERE state = 'running'")


async def test_starts_tell_what_is_left_and_refusals_when_to_come_back(free: Stage) -> None:
    test_id = await free.make_test(**PLAIN)
    answers = [await start(free.http, test_id) for _ in range(6)]
    told = [
        (answer.headers["x-ratelimit-limit"], answer.headers["x-ratelimit-remaining"]) for answer in answers
    ]
    assert told == [("5", str(left)) for left in (4, 3, 2, 1, 0, 0)]
    assert all(1 <= int(answer.headers["x-ratelimit-reset"]) <= 61 for answer in answers)
    assert answers[5].json()["code"] == "quota_exhausted"
    assert answers[5].headers["retry-after"] == answers[5].headers["x-ratelimit-reset"]
    assert "5 new runs" in answers[5].json()["error"]


async def test_direct_evaluations_and_runs_share_one_window(free: Stage) -> None:
    free.play(SUCCESS)
    test_id = await free.make_test(**PLAIN)
    reading = await free.evaluated(**PLAIN)
    assert reading.headers["x-ratelimit-remaining"] == "4"
    assert (await start(free.http, test_id)).headers["x-ratelimit-remaining"] == "3"
    await until(lambda: nothing_open(free))
    assert (await free.evaluated(**PLAIN)).headers["x-ratelimit-remaining"] == "2"


async def test_cancelled_run_gives_nothing_back(free: Stage) -> None:
    test_id = await free.make_test(**PLAIN)
    run_id = (await start(free.http, test_id)).json()["data"]["id"]
    path = f"/api/v1/agentic-tests/{test_id}/runs/{run_id}/cancel"
    assert (await free.http.post(path)).is_success
    assert (await start(free.http, test_id)).headers["x-ratelimit-remaining"] == "3"


async def test_repeated_key_spends_no_second_unit(free: Stage) -> None:
    test_id = await free.make_test(**PLAIN)
    path, once = f"/api/v1/agentic-tests/{test_id}/runs", {"Idempotency-Key": "once"}
    answers = await asyncio.gather(*(free.http.post(path, headers=once) for _ in range(8)))
    assert Counter(answer.status_code for answer in answers) == {202: 1, 200: 7}
    assert await count(free, "quota_units") == 1


async def test_refused_start_can_be_repeated_with_its_key(free: Stage) -> None:
    test_id = await free.make_test(**PLAIN)
    for _ in range(5):
        await start(free.http, test_id)
    path, once = f"/api/v1/agentic-tests/{test_id}/runs", {"Idempotency-Key": "once"}
    assert (await free.http.post(path, headers=once)).status_code == 429
    await free.rows("UPDATE quota_units SET spent_at = spent_at - interval '61 seconds'")
    assert (await free.http.post(path, headers=once)).status_code == 202


async def test_units_leave_with_the_window_and_their_rows_with_the_next_start(free: Stage) -> None:
    """C196"""
    test_id = await free.make_test(**PLAIN)
    for _ in range(5):
        await start(free.http, test_id)
    await free.rows("UPDATE quota_units SET spent_at = spent_at - interval '50 seconds'")
    refused = await start(free.http, test_id)
    assert (refused.status_code, int(refused.headers["retry-after"]) <= 11) == (429, True)
    await free.rows("UPDATE quota_units SET spent_at = spent_at - interval '11 seconds'")
    assert (await start(free.http, test_id)).headers["x-ratelimit-remaining"] == "4"
    assert await count(free, "quota_units") == 1


async def test_old_rows_are_read_and_removed_by_the_index(free: Stage) -> None:
    account_id = free.tenant.account_id
    await free.rows(
        "INSERT INTO quota_units (account_id, id, spent_at) SELECT $1, gen_random_uuid(),"
        " now() - interval '1 hour' - n * interval '1 second' FROM generate_series(1, 5000) AS n",
        account_id,
    )
    await free.rows("ANALYZE quota_units")
    plan = await free.rows(
        "EXPLAIN SELECT spent_at FROM quota_units WHERE account_id = $1 AND spent_at >= now()"
        " - interval '60 seconds' ORDER BY spent_at DESC LIMIT 5",
        account_id,
    )
    assert "ix_quota_units_window" in str(plan)
    test_id = await free.make_test(**PLAIN)
    assert (await start(free.http, test_id)).headers["x-ratelimit-remaining"] == "4"
    assert await count(free, "quota_units") == 4_901


async def test_unlimited_plan_has_no_headers_but_counts(free: Stage) -> None:
    await free.rows("UPDATE accounts SET plan = 'max'")
    test_id = await free.make_test(**PLAIN)
    for _ in range(7):
        answer = await start(free.http, test_id)
        assert answer.status_code == 202
        assert not [name for name in answer.headers if name.startswith("x-ratelimit")]
    limits = await free.read("/api/v1/limits")
    assert limits["runs_per_minute"] | {"window_s": 60} == {
        "limit": None,
        "used": 7,
        "remaining": None,
        "window_s": 60,
        "reset_at": None,
    }
    await free.rows("UPDATE accounts SET plan = 'free'")
    assert (await start(free.http, test_id)).status_code == 429, "spent units stay spent"


async def test_each_account_has_its_own_window(free: Stage) -> None:
    database = free.services.database
    for _ in range(5):
        async with database.session() as session:
            await spend(session, await enter(session, free.tenant.account_id), A_TEST)
    with pytest.raises(QuotaExhausted):
        async with database.session() as session:
            await spend(session, await enter(session, free.tenant.account_id), A_TEST)
    await free.rows(
        "INSERT INTO accounts (id, name, plan, balance) VALUES ('01a22cd1-1c69-7435-8e3a-8a2be0d79950',"
        " 'other', 'free', 1)"
    )
    [other] = await free.rows("SELECT id FROM accounts WHERE name = 'other'")
    async with database.session() as session:
        assert (await spend(session, await enter(session, other["id"]), A_TEST)).remaining == 4


async def test_balance_and_suspension_are_looked_at_before_quota(free: Stage) -> None:
    """C186"""
    test_id = await free.make_test(**PLAIN)
    async with free.services.database.session() as session:
        await move_money(session, free.tenant.account_id, Decimal(-100), "spent")
    answers = await asyncio.gather(*(start(free.http, test_id) for _ in range(8)))
    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(402, "balance_exhausted")}
    await free.rows("UPDATE accounts SET status = 'suspended'")
    answer = await start(free.http, test_id)
    assert (answer.status_code, answer.json()["code"]) == (403, "account_suspended")
    assert await count(free, "quota_units") == 0
    assert await count(free, "runs") == 0


async def test_more_resources_than_the_plan_has_are_refused_at_the_start(free: Stage) -> None:
    with pytest.raises(InvalidRequest) as caught:
        async with free.services.database.session() as session:
            await spend(
                session,
                await enter(session, free.tenant.account_id),
                Wanted(resources=17, is_integrated=False),
            )
    assert caught.value.details[0]["field"] == "resources"
    assert await count(free, "quota_units") == 0


class TestIntegratedLlms:
    """Requests and tokens of integrated llms, over 24 hours."""

    @staticmethod
    async def used(stage: Stage, requests: int, tokens: int, hours_ago: float = 1) -> None:
        await stage.rows(
            "INSERT INTO ledger (account_id, source, source_id, seq, amount, role, llm, prompt_tokens,"
            " completion_tokens, created_at) SELECT $1, 'run', gen_random_uuid(), n, 0, 'assistant',"
            " '@acme/chat', $3, 1, now() - make_interval(secs => $4 * 3600) + n * interval '1 second'"
            " FROM generate_series(1, $2::int) AS n",
            stage.tenant.account_id,
            requests,
            tokens - 1,
            hours_ago,
        )

    @staticmethod
    async def attempt(stage: Stage, is_integrated: bool = True) -> None:
        async with stage.services.database.session() as session:
            entrant = await enter(session, stage.tenant.account_id)
            await spend(session, entrant, Wanted(resources=0, is_integrated=is_integrated))

    async def test_requests_of_a_day_are_bounded(self, free: Stage) -> None:
        await self.used(free, 199, 10)
        await self.attempt(free)
        await self.used(free, 1, 10, hours_ago=2)
        with pytest.raises(IntegratedLimitReached) as caught:
            await self.attempt(free)
        assert 21.9 * 3600 < (caught.value.retry_after_s or 0) <= 22.1 * 3600
        assert await count(free, "quota_units") == 1
        await self.attempt(free, is_integrated=False)

    async def test_tokens_of_a_day_are_bounded_by_what_has_to_leave(self, free: Stage) -> None:
        await self.used(free, 1, 600_000, hours_ago=10)
        await self.attempt(free)
        await self.used(free, 1, 500_000, hours_ago=1)
        with pytest.raises(IntegratedLimitReached) as caught:
            await self.attempt(free)
        assert 13.9 * 3600 < (caught.value.retry_after_s or 0) <= 14.1 * 3600

    async def test_yesterdays_use_does_not_count(self, free: Stage) -> None:
        await self.used(free, 500, 10_000, hours_ago=25)
        await self.attempt(free)

    async def test_conversation_counts_under_the_name_the_account_knows(self, free: Stage) -> None:
        endpoint = LlmEndpoint(base_url=free.llms.base_url, model="assistant")
        llm = IntegratedLlm(slug="@acme/chat", endpoint=endpoint, prices=Prices.of("1", "0.1", "2"))
        free.services.offer.integrated._by_slug[llm.slug] = llm
        free.play(SUCCESS)
        await free.evaluated(**PLAIN, model="@acme/chat")
        await until(lambda: nothing_open(free))
        charges = await free.rows("SELECT llm FROM ledger WHERE role = 'assistant'")
        assert [row["llm"] for row in charges] == ["@acme/chat"]
        used = (await free.read("/api/v1/limits"))["integrated"]
        assert used["requests_per_day"] == {"limit": 200, "used": 1, "remaining": 199}
        assert used["tokens_per_day"]["used"] > 0
        await self.used(free, 199, 10)
        body = {"model": "@acme/chat", "goal": GOAL}
        answer = await free.http.post(DIRECT, json=body)
        assert (answer.status_code, answer.json()["code"]) == (429, "integrated_limit_reached")
        assert int(answer.headers["retry-after"]) > 80_000
        assert await count(free, "direct_calls") == 1
