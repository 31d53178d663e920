"""`POST /api/v1/generations/agentic-tests`: one conversation, streamed, of which only the cost is stored."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import orjson
import pytest
from sqlalchemy import update
from yarl import URL

from parley.server.billing.credits import move_money
from parley.server.config import RunSettings, Settings
from parley.server.db.tables import Table
from parley.server.db.tables.accounts import Account
from parley.server.llm.demo import Hang, Rule, Say, Status, opinion
from tests.event_order import assert_in_order, assert_one_end
from tests.factories.accounts import Tenant, bearer, make_key
from tests.stage import DIRECT, GOAL, Stage, client_of, frames_of, told, until
from tests.stories_told import EVENTFUL_FIELDS, USAGE, eventful

ALIAS = "/api/v1/generations/validations"
SUCCESS = Rule((opinion(0.95),), part="judge")
PLAIN: dict[str, Any] = {"seed": 7, "max_turns": 2, "profile": "low"}


async def test_events_come_in_the_order_of_a_turn(stage: Stage) -> None:
    stage.play(*eventful())
    reading = await stage.evaluated(**EVENTFUL_FIELDS)
    assert reading.status == 200
    assert reading.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert "no-store" in reading.headers["cache-control"]
    assert reading.headers["x-accel-buffering"] == "no"
    assert_in_order(reading.frames)
    turns = [frame.data for frame in reading.frames if frame.type == "chat.start"]
    assert turns == [{"turn_number": n, "max_remaining_turns": 7 - n} for n in (1, 2, 3, 4)]
    times = [frame.timestamp for frame in reading.frames]
    assert times == sorted(times)
    assert len({frame.id for frame in reading.frames}) == len(reading.frames)


async def test_opinion_and_end_carry_their_arithmetic(stage: Stage) -> None:
    stage.play(Rule((opinion(0.1, "Rude."),), part="judge"))
    frames = (await stage.evaluated(**{**PLAIN, "max_turns": 5})).frames
    results = [f.data["result"] for f in frames if f.type == "chat.judge.turn_analysis_result_ready"]
    assert results[0] == {
        "reasoning": "Rude.",
        "score": 0.1,
        "pass": True,
        "should_continue": True,
        "state": "at_risk",
        "turn_delta": -0.8,
        "conversation_delta": 0.1,
        "loss_streak": 1,
        "required_loss_streak": 2,
    }
    assert results[1]["loss_streak"] == 2
    assert results[1]["pass"] is False
    assert frames[-1].data == {
        "outcome": "loss",
        "reason": "loss_threshold_persisted",
        "state": "loss",
        "turn_number": 2,
        "score": 0.0,
        "conversation_delta": 0.0,
        "loss_streak": 2,
    }


async def test_alias_and_spellings_are_the_same_call(stage: Stage) -> None:
    body = {"model": stage.gateway["id"], "goal": GOAL, **PLAIN, "user": "u-1", "stream": False}
    stage.play(SUCCESS)
    answer = await stage.http.post(ALIAS, json=body)
    assert answer.status_code == 200
    assert_in_order(frames_of(answer.content))
    spoken = [one.body for one in stage.llms.requests if one.llm == "assistant"]
    assert spoken[0]["user"] == "u-1"
    stage.play(SUCCESS)
    again = await stage.evaluated(**PLAIN, external_user_id="u-1")
    assert told(again.frames) == told(frames_of(answer.content))


async def raw_answer(stage: Stage, version: str, **fields: Any) -> tuple[bytes, bytes]:
    """Speak HTTP by hand: head and body of the answer."""
    body = orjson.dumps({"model": stage.gateway["slug"], "goal": GOAL} | fields)
    url = URL(stage.url)
    reader, writer = await asyncio.open_connection(url.host, url.port)
    head = (
        f"POST {DIRECT} HTTP/{version}\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {stage.tenant.private.token}\r\nContent-Length: {len(body)}\r\n"
    )
    writer.write(head.encode() + b"Connection: close\r\n\r\n" + body)
    async with asyncio.timeout(10):
        answer = await reader.read()
    writer.close()
    head_bytes, _, rest = answer.partition(b"\r\n\r\n")
    return head_bytes.lower(), rest


async def test_http_1_0_client_reads_plain_events_to_the_end_of_the_connection(stage: Stage) -> None:
    """C100"""
    stage.play(SUCCESS)
    head, body = await raw_answer(stage, "1.0", **PLAIN)
    assert b"transfer-encoding" not in head
    assert b"connection: close" in head
    assert_in_order(frames_of(body))


async def test_http_1_1_client_gets_chunks(stage: Stage) -> None:
    """C100"""
    stage.play(SUCCESS)
    head, body = await raw_answer(stage, "1.1", **PLAIN)
    assert b"transfer-encoding: chunked" in head
    assert body.endswith(b"0\r\n\r\n")


class TestSilence:
    """An evaluation that keeps its caller waiting."""

    @pytest.fixture
    def stage_settings(self, stage_settings: Settings) -> Settings:
        return dataclasses.replace(stage_settings, run=RunSettings(sse_ping_s=0.1, stream_check_s=0.1))

    async def test_silence_is_filled_with_comments_between_events(self, stage: Stage) -> None:
        """C094"""
        stage.play(Rule((Say("Slowly.", latency_ms=500),), part="assistant"), SUCCESS)
        reading = await stage.evaluated(**PLAIN)
        assert reading.pings >= 3
        assert_in_order(reading.frames)

    async def test_revoked_key_ends_the_stream_with_one_terminal_event(self, stage: Stage) -> None:
        stage.play(Rule((Hang(2),), part="assistant"))
        key = await make_key(stage.services.database, stage.tenant.account_id)
        client = client_of(stage.url, bearer(key.token))
        async with client, client.stream("POST", DIRECT, json=body_of(stage)) as answer:
            raw = bytearray()
            async with asyncio.timeout(10):
                async for chunk in answer.aiter_raw():
                    if not raw:
                        assert (await stage.http.delete(f"/api/v1/keys/{key.id}")).status_code == 204
                    raw += chunk
        assert_one_end(frames_of(raw))
        assert frames_of(raw)[-1].data["code"] == "cancelled"
        await until(lambda: stage.llms.stats.cancelled == 1)


def body_of(stage: Stage, **fields: Any) -> dict[str, Any]:
    return {"model": stage.gateway["slug"], "goal": GOAL, **PLAIN} | fields


async def refused(stage: Stage, status: int, code: str, **request: Any) -> Any:
    """Nothing was made, nothing was called; gives the whole answer."""
    answer = await stage.http.post(DIRECT, **({"json": body_of(stage)} | request))
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert set(answer.json()) == {"error", "code", "details"}
    assert stage.llms.stats.requests == 0
    assert await stage.rows("SELECT id FROM direct_calls") == []
    return answer.json()


async def test_all_faults_of_a_body_are_told_at_once(stage: Stage) -> None:
    body = {
        "goal": " ",
        "max_turns": 1,
        "user_sampling": {"topk": 1},
        "hooks": [],
        "cron": None,
        "base_threshold": 0.3,
    }
    answer = await refused(stage, 400, "invalid_request", json=body)
    fields = {line["field"] for line in answer["details"]}
    assert {"model", "goal", "max_turns", "user_sampling.topk", "hooks", "cron", "base_threshold"} <= fields


async def test_broken_json_is_told_with_its_place(stage: Stage) -> None:
    answer = await refused(stage, 400, "invalid_request", content=b'{"model": "x", ', json=None)
    assert "JSON" in answer["details"][0]["problem"]


async def test_unknown_and_foreign_gateways_are_told_in_the_same_words(
    stage: Stage, stranger: Tenant
) -> None:
    client = client_of(stage.url, stranger.auth)
    async with client:
        answers = [
            (await client.post(DIRECT, json=body_of(stage, model=name))).json()
            for name in (stage.gateway["slug"], stage.gateway["id"], "nobody:0000", "@nobody/none")
        ]
    for answer in answers:
        assert answer["code"] == "invalid_request"
        assert answer["details"][0]["field"] == "model"
        assert answer["details"] == answers[0]["details"]
    assert await stage.rows("SELECT id FROM direct_calls") == []


async def test_idempotency_key_is_refused(stage: Stage) -> None:
    answer = await refused(stage, 400, "invalid_request", headers={"Idempotency-Key": "once"})
    assert answer["details"][0]["field"] == "Idempotency-Key"


async def test_resuming_is_refused_before_anything_is_spent(stage: Stage) -> None:
    await refused(stage, 409, "not_resumable", headers={"Last-Event-ID": "3:10"})


async def test_keys_that_may_not_evaluate_are_refused(stage: Stage) -> None:
    database, account_id = stage.services.database, stage.tenant.account_id
    reader = await make_key(database, account_id, scopes=("tests:read",))
    await refused(stage, 403, "public_key_refused", headers=stage.tenant.public.auth)
    await refused(stage, 403, "scope_missing", headers=reader.auth)
    async with client_of(stage.url, {}) as nobody:
        assert (await nobody.post(DIRECT, json=body_of(stage))).json()["code"] == "missing_api_key"
    await refused(stage, 401, "invalid_api_key", headers=bearer("sk-par-nonsense"))


async def test_body_over_the_cap_is_refused_unread(stage: Stage) -> None:
    await refused(stage, 413, "body_too_large", content=b"[" * 1_000_001, json=None)


async def test_empty_balance_is_refused_before_anything_is_said(stage: Stage) -> None:
    async with stage.services.database.session() as session:
        await move_money(session, stage.tenant.account_id, Decimal(-100), note="spent")
    await refused(stage, 402, "balance_exhausted")


async def test_suspended_account_is_refused(stage: Stage) -> None:
    async with stage.services.database.session() as session:
        await session.execute(update(Account).values(status="suspended"))
    await refused(stage, 403, "account_suspended")


async def closed_call(stage: Stage) -> dict[str, Any]:
    """The one accounting row, once it is closed."""
    rows: list[dict[str, Any]] = []

    async def is_closed() -> bool:
        rows[:] = await stage.rows("SELECT * FROM direct_calls WHERE state = 'ended'")
        return bool(rows)

    await until(is_closed)
    return rows[0]


async def assert_books_balance(stage: Stage) -> list[dict[str, Any]]:
    """The balance is the sum of its movements; gives the charges."""
    ledger = await stage.rows("SELECT * FROM ledger ORDER BY source, seq")
    [account] = await stage.rows("SELECT balance FROM accounts WHERE id = $1", stage.tenant.account_id)
    assert account["balance"] == sum(row["amount"] for row in ledger)
    return [row for row in ledger if row["source"] == "direct"]


async def test_every_attempt_is_charged_at_its_price(stage: Stage) -> None:
    thousand = {**USAGE, "prompt_tokens": 1_000, "completion_tokens": 1_000}
    stage.play(
        Rule((Say("", usage=thousand), Say("Hello?", usage=thousand)), part="user"),
        Rule((Status(500), Say("Hi.", usage=thousand)), part="assistant"),
        Rule((Say('{"reasoning": "ok", "score": 0.95}', usage=thousand),), part="judge"),
    )
    await stage.evaluated(**PLAIN)
    call = await closed_call(stage)
    charges = await assert_books_balance(stage)
    # 800 fresh, 200 cached, 1,000 written: profile low, the gateway's prices, plan max (1.00)
    user = (Decimal("800") * Decimal("0.25") + 200 * Decimal("0.025") + 1_000 * Decimal("1.5")) / 10**6
    judge = (Decimal("800") * Decimal("0.30") + 200 * Decimal("0.03") + 1_000 * Decimal("2.5")) / 10**6
    assistant = (Decimal("800") * 1 + 200 * Decimal("0.1") + 1_000 * 2) / 10**6
    assert [(row["role"], -row["amount"]) for row in charges] == [
        ("user", user),
        ("user", user),
        ("assistant", assistant),
        ("judge", judge),
    ]
    assert [row["llm"] for row in charges] == ["user", "user", "assistant", "judge"]
    assert call["cost"] == 2 * user + judge + assistant
    assert call["outcome"] == "success"
    assert (charges[0]["prompt_tokens"], charges[0]["cached_prompt_tokens"]) == (1_000, 200)


async def test_caller_that_has_read_the_end_finds_everything_settled(stage: Stage) -> None:
    """So that the next call finds the slot free, and the balance is the one that counts."""
    stage.play(SUCCESS)
    for count in (1, 2, 3):
        await stage.evaluated(**PLAIN)
        rows = await stage.rows("SELECT state FROM direct_calls")
        assert rows == [{"state": "ended"}] * count
        assert len(await assert_books_balance(stage)) == 3 * count


@pytest.mark.parametrize(("plan", "multiplier"), [("free", "1.25"), ("pro", "1.05")])
async def test_plan_multiplies_user_and_judge_but_not_the_own_gateway(
    stage: Stage, plan: str, multiplier: str
) -> None:
    async with stage.services.database.session() as session:
        await session.execute(update(Account).values(plan=plan))
    thousand = {**USAGE, "completion_tokens": 1_000, "prompt_tokens_details": None}
    stage.play(
        Rule((Say("Hello?", usage=thousand),), part="user"),
        Rule((Say("Hi.", usage=thousand),), part="assistant"),
        Rule((Say('{"reasoning": "ok", "score": 0.95}', usage=thousand),), part="judge"),
    )
    await stage.evaluated(**PLAIN)
    await closed_call(stage)
    charges = {row["role"]: -row["amount"] for row in await assert_books_balance(stage)}
    assert charges["user"] == Decimal("0.00175") * Decimal(multiplier)
    assert charges["judge"] == Decimal("0.0028") * Decimal(multiplier)
    assert charges["assistant"] == Decimal("0.003")


async def test_usage_that_nobody_reported_is_estimated_and_marked(stage: Stage) -> None:
    stage.play(Rule((Say("Hello, how can I help?", usage="absent"),), part="assistant"), SUCCESS)
    await stage.evaluated(**PLAIN)
    await closed_call(stage)
    marks = {row["role"]: row["estimated"] for row in await assert_books_balance(stage)}
    assert marks == {"user": False, "assistant": True, "judge": False}


async def test_balance_is_looked_at_before_each_turn(stage: Stage) -> None:
    costly = {**USAGE, "prompt_tokens": 200_000_000}
    stage.play(Rule((Say("Hi.", usage=costly),), part="assistant"))
    frames = (await stage.evaluated(**{**PLAIN, "max_turns": 4})).frames
    assert frames[-1].data["code"] == "balance_exhausted"
    assert sum(frame.type == "chat.judge.turn_analysis_end" for frame in frames) == 1, (
        "a begun turn is finished"
    )
    assert_one_end(frames)
    await closed_call(stage)
    await assert_books_balance(stage)


@contextlib.asynccontextmanager
async def left_in_the_middle(stage: Stage, *script: Rule) -> AsyncIterator[None]:
    """A caller that goes away once it has seen some text."""
    stage.play(*script)
    async with stage.evaluating(**PLAIN) as (_, chunks):
        async for chunk in chunks:
            if b"assistant_message.content" in chunk:
                break
    yield


@pytest.mark.parametrize(
    "behaviour", [Hang(3), Say("on and on " * 2_000, gap_ms=5)], ids=["silent", "talking"]
)
async def test_caller_that_leaves_stops_the_call_under_way_and_pays_for_it(
    stage: Stage, behaviour: Hang | Say
) -> None:
    """C088"""
    async with left_in_the_middle(stage, Rule((behaviour,), part="assistant")):
        await stage.llms.wait_until(lambda stats: stats.open == 0, timeout_s=2.0)
    assert stage.llms.stats.cancelled == 1
    call = await closed_call(stage)
    assert (call["outcome"], call["error_code"]) == (None, "cancelled")
    charges = await assert_books_balance(stage)
    assert [(row["role"], row["estimated"]) for row in charges] == [("user", False), ("assistant", True)]
    assert all(row["amount"] < 0 for row in charges)
    assert stage.llms.stats.by_llm == {"user": 1, "assistant": 1}, "no judge, no further turn"


async def test_evaluation_that_breaks_our_code_ends_with_one_event_and_a_closed_row(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C101"""
    monkeypatch.setattr("parley.engine.converse.judge_messages", lambda *_: 1 / 0)
    frames = (await stage.evaluated(**PLAIN)).frames
    assert_one_end(frames)
    assert frames[-1].data["code"] == "internal_error"
    assert (await closed_call(stage))["error_code"] == "internal_error"
    assert [row["role"] for row in await assert_books_balance(stage)] == ["user", "assistant"]


async def test_nothing_of_the_content_is_stored(stage: Stage) -> None:
    canary = "canary-4f1d"
    stage.play(
        Rule((Say(f"{canary} hello", reasoning=canary),), part="user"),
        Rule((Say(f"{canary} hi", reasoning=canary),), part="assistant"),
        Rule((opinion(0.95, canary),), part="judge"),
    )
    fields = {
        "goal": canary,
        "validation_criteria": canary,
        "resources": [{"type": "Text", "data": canary}],
        "start": [{"role": "user", "content": canary}, {"role": "assistant", "content": canary}],
        "metadata": {canary: canary},
        "external_user_id": canary,
    }
    reading = await stage.evaluated(**PLAIN, **fields)
    assert canary.encode() in reading.raw
    await closed_call(stage)
    for table in Table.metadata.sorted_tables:
        rows = await stage.rows(f'SELECT t::text AS line FROM "{table.name}" AS t')
        assert not [row for row in rows if canary in row["line"]], table.name
    keys = [key async for key in stage.services.redis.scan_iter(f"{stage.settings.redis.prefix}:*")]
    assert not [key for key in keys if b"live" in key], "the bus has no part in it"


async def test_process_that_stops_tells_its_callers_so(stage: Stage) -> None:
    stage.play(Rule((Hang(2),), part="assistant"))
    closing: list[asyncio.Task[None]] = []
    async with stage.evaluating(**PLAIN) as (reading, chunks), asyncio.timeout(10):
        async for chunk in chunks:
            if not reading.raw:
                closing.append(asyncio.create_task(stage.services.direct.close()))
            reading.raw += chunk
    await asyncio.gather(*closing)
    assert_one_end(reading.frames)
    assert reading.frames[-1].data["code"] == "shutdown"
    assert (await closed_call(stage))["error_code"] == "shutdown"


async def test_gateway_that_goes_between_reading_and_calling_leaves_no_open_row(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(*_: object) -> None:
        return None

    monkeypatch.setattr("parley.server.gateways.vault.GatewayVault.secrets_of", gone)
    answer = await stage.http.post(DIRECT, json=body_of(stage))
    assert (answer.status_code, answer.json()["details"][0]["field"]) == (400, "model")
    assert (await closed_call(stage))["error_code"] == "gateway_inference"
