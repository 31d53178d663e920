"""`/api/v1/agentic-tests/{test}/runs`: start, list, read, cancel, export."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from jsonschema import Draft202012Validator
from sqlalchemy import update

from parley.server.billing.credits import move_money
from parley.server.config import RunSettings, Settings
from parley.server.db.tables.accounts import Account
from parley.server.llm.demo import Hang, Rule, Say, opinion
from parley.server.runs.export import SCHEMA_PATH, export_schema
from tests.event_order import assert_one_end
from tests.factories.accounts import Tenant, make_key
from tests.stage import GOAL, Stage, client_of, make_gateway, until
from tests.stories_told import EVENTFUL_FIELDS, eventful

PUBLISHED = Path(__file__).parents[2] / "docs/reference/run-export-1.schema.json"
PLAIN: dict[str, Any] = {"max_turns": 2, "profile": "low"}
SUCCESS = Rule((opinion(0.95),), part="judge")


def runs_of(test_id: str) -> str:
    return f"/api/v1/agentic-tests/{test_id}/runs"


async def post_run(stage: Stage, test_id: str, key: str | None = None, **body: Any) -> httpx.Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    return await stage.http.post(runs_of(test_id), headers=headers, json=body or None)


# Start


async def test_start_answers_with_a_pending_run(stage: Stage) -> None:
    test_id = await stage.make_test(**PLAIN, external_user_id="u-1", seed=11)
    answer = await post_run(stage, test_id)
    assert answer.status_code == 202
    run = answer.json()["data"]
    assert set(run) == {
        *("id", "test_id", "state", "created_at", "started_at", "finished_at", "outcome", "score", "cost"),
        *("error", "external_user_id", "trigger", "revision", "seed"),
    }
    assert (run["state"], run["trigger"], run["seed"]) == ("pending", "manual", 11)
    assert (run["test_id"], run["external_user_id"], run["cost"]) == (test_id, "u-1", 0)
    assert run["started_at"] is run["finished_at"] is run["outcome"] is run["score"] is run["error"] is None
    test = await stage.read(f"/api/v1/agentic-tests/{test_id}")
    assert run["revision"] == test["revision"]
    assert test["latest_run"]["id"] == run["id"]


async def test_seed_is_the_bodys_else_the_tests_else_drawn(stage: Stage) -> None:
    seeded, free = await stage.make_test(seed=11), await stage.make_test()
    assert (await post_run(stage, seeded, seed=0)).json()["data"]["seed"] == 0
    assert (await post_run(stage, seeded, seed=2**53 - 1)).json()["data"]["seed"] == 2**53 - 1
    assert (await post_run(stage, seeded)).json()["data"]["seed"] == 11
    drawn = {(await post_run(stage, free)).json()["data"]["seed"] for _ in range(3)}
    assert len(drawn) == 3
    assert all(0 <= seed < 2**53 for seed in drawn)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"seed": -1}', "seed"),
        (b'{"seed": 9007199254740992}', "seed"),
        (b'{"seed": "x"}', "seed"),
        (b'{"sed": 1}', "sed"),
        (b"[]", ""),
        (b"{", ""),
    ],
)
async def test_body_that_does_not_fit_makes_nothing(stage: Stage, body: bytes, field: str) -> None:
    test_id = await stage.make_test()
    headers = {"Content-Type": "application/json"}
    answer = await stage.http.post(runs_of(test_id), content=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert answer.json()["details"][0]["field"] == field
    assert await stage.rows("SELECT id FROM runs") == []


async def test_same_idempotency_key_is_the_same_run(stage: Stage) -> None:
    test_id, other = await stage.make_test(), await stage.make_test()
    first = await post_run(stage, test_id, "k-1", seed=3)
    again = await post_run(stage, test_id, "k-1", seed=3)
    assert (first.status_code, again.status_code) == (202, 200)
    assert first.json()["data"]["id"] == again.json()["data"]["id"]
    differs = await post_run(stage, test_id, "k-1", seed=4)
    assert (differs.status_code, differs.json()["code"]) == (409, "idempotency_conflict")
    elsewhere = await post_run(stage, other, "k-1", seed=3)
    assert elsewhere.status_code == 202
    assert len(await stage.rows("SELECT id FROM runs")) == 2


async def test_parallel_twins_make_one_run(stage: Stage) -> None:
    test_id = await stage.make_test()
    answers = await asyncio.gather(*(post_run(stage, test_id, "twins") for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [202]
    assert len({answer.json()["data"]["id"] for answer in answers}) == 1
    assert len(await stage.rows("SELECT id FROM runs")) == 1


async def test_failed_start_is_not_remembered(stage: Stage) -> None:
    test_id = await stage.make_test()
    account_id = stage.tenant.account_id
    async with stage.services.database.session() as session:
        await move_money(session, account_id, Decimal(-100), "spent")
    refused = await post_run(stage, test_id, "k-1")
    assert (refused.status_code, refused.json()["code"]) == (402, "balance_exhausted")
    async with stage.services.database.session() as session:
        await move_money(session, account_id, Decimal(1), "paid")
    assert (await post_run(stage, test_id, "k-1")).status_code == 202


@pytest.mark.parametrize("key", ["", "k" * 201])
async def test_odd_idempotency_key_is_refused(stage: Stage, key: str) -> None:
    answer = await post_run(stage, await stage.make_test(), key)
    assert (answer.status_code, answer.json()["details"][0]["field"]) == (400, "Idempotency-Key")


async def test_suspended_account_starts_nothing(stage: Stage) -> None:
    test_id = await stage.make_test()
    async with stage.services.database.session() as session:
        await session.execute(update(Account).values(status="suspended"))
    answer = await post_run(stage, test_id)
    assert (answer.status_code, answer.json()["code"]) == (403, "account_suspended")
    assert await stage.rows("SELECT id FROM runs") == []


# List


async def test_list_is_newest_first_in_pages(stage: Stage) -> None:
    test_id, other = await stage.make_test(), await stage.make_test()
    ids = [(await post_run(stage, test_id)).json()["data"]["id"] for _ in range(5)]
    await post_run(stage, other)
    whole = (await stage.http.get(runs_of(test_id))).json()
    assert [run["id"] for run in whole["data"]] == ids[::-1]
    assert whole["page"] == {"limit": 50, "offset": 0, "has_more": False, "next_cursor": None}
    by_offset = (await stage.http.get(runs_of(test_id), params={"limit": 2, "offset": 2})).json()
    assert [run["id"] for run in by_offset["data"]] == [ids[2], ids[1]]
    assert by_offset["page"]["has_more"] is True
    seen: list[str] = []
    page: dict[str, Any] = {"next_cursor": ""}
    while page["next_cursor"] is not None:
        params = {"limit": 2, "cursor": page["next_cursor"]}
        answer = (await stage.http.get(runs_of(test_id), params=params)).json()
        seen += [run["id"] for run in answer["data"]]
        page = answer["page"]
    assert seen == ids[::-1]


async def test_list_is_narrowed_by_state(stage: Stage) -> None:
    test_id = await stage.make_test()
    first = await stage.start(test_id)
    await stage.start(test_id)
    await stage.http.post(f"{first}/cancel")
    for state, count in (("pending", 1), ("cancelled", 1), ("running", 0), ("succeeded", 0), ("failed", 0)):
        runs = (await stage.http.get(runs_of(test_id), params={"state": state})).json()["data"]
        assert [run["state"] for run in runs] == [state] * count
    answer = await stage.http.get(runs_of(test_id), params={"state": "done"})
    assert (answer.status_code, answer.json()["details"][0]["field"]) == (400, "state")


# Read


async def test_run_explains_itself(stage: Stage) -> None:
    stage.play(*eventful())
    test_id = await stage.make_test(**EVENTFUL_FIELDS, validation_criteria="The money is named.")
    async with stage.worker():
        run = await stage.finished(await stage.start(test_id))
    assert (run["state"], run["outcome"], run["error"]) == ("succeeded", "incomplete", None)
    assert run["created_at"] <= run["started_at"] <= run["finished_at"]
    assert run["result"] == {
        "outcome": "incomplete",
        "reason": "simulated_user_ended_conversation",
        "state": "ended",
        "turn_number": 4,
        "score": 1.0,
        "conversation_delta": 1.0,
        "loss_streak": 0,
        "hooks": [],
    }
    definition = run["definition"]
    assert definition["fields"]["goal"] == GOAL
    assert definition["fields"]["validation_criteria"] == "The money is named."
    assert definition["gateway"]["slug"] == stage.gateway["slug"]
    assert definition["gateway"]["facts"]["model"] == "assistant"
    assert definition["profile"]["judge"]["model"] == "judge"
    assert definition["profile"]["judge"]["prices"] == {"input": 0.3, "cached": 0.03, "output": 2.5}
    said = [(item["turn"], item["role"]) for item in run["conversation"]]
    turns = [(n, role) for n in (1, 2, 3, 4) for role in ("user", "assistant", "judge")]
    assert said == [*turns[:2], (1, "assistant"), *turns[2:]], "two rounds in turn 1"
    called, answered = run["conversation"][1:3]
    assert called["tool_calls"][0]["name"] == "lookup_order"
    assert called["tool_results"][0]["content"] == "Delivered on Monday."
    assert (answered["round"], answered["reasoning"]) == (2, "Look: Monday.")
    assert run["conversation"][-3]["exited"] is True
    assert run["conversation"][-3]["content"] == "Thank you, that is all."
    delta = 0.5
    for item in (item for item in run["conversation"] if item["role"] == "judge"):
        said_by_judge = item["opinion"]
        assert said_by_judge["turn_delta"] == pytest.approx(2 * said_by_judge["score"] - 1)
        delta = min(1.0, delta + said_by_judge["turn_delta"] / 2)
        assert said_by_judge["conversation_delta"] == pytest.approx(delta)
    for item in run["conversation"]:
        assert set(item["usage"]) == {
            *("model", "prompt_tokens", "cached_prompt_tokens", "completion_tokens", "cost", "estimated"),
        }
        assert item["usage"]["cost"] > 0
        assert run["started_at"] <= item["timestamp"] <= run["finished_at"]
    assert [(one["role"], one["reason"], one["code"]) for one in run["attempts"]] == [
        ("assistant", "retried", "stream_cut"),
        ("user", "nudged", "reply_empty"),
        ("assistant", "retried", "rate_limited"),
        ("judge", "retried", "opinion_without_object"),
        ("assistant", "retried", "stream_cut"),
    ]
    assert run["attempts"][2]["usage"] is None, "an attempt without a chunk costs nothing"
    assert run["attempts"][0]["usage"]["estimated"] is True


async def test_charges_of_a_run_add_up_everywhere(stage: Stage) -> None:
    stage.play(*eventful())
    async with stage.worker():
        run = await stage.finished(await stage.start(await stage.make_test(**EVENTFUL_FIELDS)))
    ledger = await stage.rows("SELECT * FROM ledger ORDER BY source, seq")
    [account] = await stage.rows("SELECT balance FROM accounts WHERE id = $1", stage.tenant.account_id)
    assert account["balance"] == sum(row["amount"] for row in ledger)
    charges = {row["seq"]: -row["amount"] for row in ledger if row["source"] == "run"}
    told = {item["seq"]: item["usage"]["cost"] for item in run["conversation"]}
    told |= {one["seq"]: one["usage"]["cost"] for one in run["attempts"] if one["usage"]}
    assert {seq: float(amount) for seq, amount in charges.items()} == told
    assert run["cost"] == float(sum(charges.values()))
    [label] = [item for item in run["conversation"] if item["content"] == "A label is on its way."]
    # 800 fresh tokens at 1.00, 200 cached at 0.10, 100 written at 2.00 a million
    assert label["usage"]["cost"] == pytest.approx((800 + 20 + 200) / 10**6)


async def test_run_keeps_the_definition_it_was_started_with(stage: Stage) -> None:
    test_id = await stage.make_test(**PLAIN)
    path = await stage.start(test_id)
    await stage.http.patch(f"/api/v1/agentic-tests/{test_id}", json={"goal": "Something else."})
    stage.play(SUCCESS)
    async with stage.worker():
        run = await stage.finished(path)
    assert run["definition"]["fields"]["goal"] == GOAL
    asked = next(one for one in stage.llms.requests if one.llm == "user")
    assert GOAL in asked.raw.decode()


# Cancel


async def test_pending_run_is_cancelled_at_once_without_a_worker(stage: Stage) -> None:
    """C158"""
    path = await stage.start(await stage.make_test(**PLAIN))
    answer = await stage.http.post(f"{path}/cancel")
    assert (answer.status_code, answer.json()["data"]["state"]) == (202, "cancelled")
    run = await stage.read(path)
    assert (run["state"], run["outcome"], run["cost"]) == ("cancelled", None, 0)
    frames = await stage.events(path)
    assert_one_end(frames)
    assert frames[0].data["code"] == "cancelled"
    async with stage.worker():
        await asyncio.sleep(0.3)
    assert stage.llms.stats.requests == 0, "C167: no call after a cancellation was confirmed"


@pytest.mark.parametrize("part", ["user", "assistant", "judge"])
async def test_running_run_closes_its_inference_within_two_seconds(stage: Stage, part: Any) -> None:
    stage.play(Rule((Hang(3),), part=part))
    async with stage.worker():
        path = await stage.start(await stage.make_test(**PLAIN))
        await until(lambda: stage.llms.stats.by_llm.get(part))
        answer = await stage.http.post(f"{path}/cancel")
        assert (answer.status_code, answer.json()["data"]["state"]) == (202, "running")
        await stage.llms.wait_until(lambda stats: stats.cancelled == 1, timeout_s=2.0)
        run = await stage.finished(path)
    assert (run["state"], run["outcome"], run["error"]) == ("cancelled", None, None)
    [spent] = run["attempts"]
    assert (spent["role"], spent["reason"], spent["will_retry"]) == (part, "cancelled", False)
    assert spent["usage"]["estimated"] is True
    assert stage.llms.stats.by_llm.get("judge", 0) == (part == "judge"), "no judge after a cancellation"
    frames = await stage.events(path)
    assert_one_end(frames)
    assert frames[-1].data["code"] == "cancelled"


async def test_ended_run_stays_as_it_is(stage: Stage) -> None:
    stage.play(SUCCESS)
    async with stage.worker():
        path = await stage.start(await stage.make_test(**PLAIN))
        before = await stage.finished(path)
    answer = await stage.http.post(f"{path}/cancel")
    assert (answer.status_code, answer.json()["data"]["state"]) == (200, "succeeded")
    assert await stage.read(path) == before
    again = await stage.http.post(f"{path}/cancel")
    assert again.json() == answer.json()


async def test_deleting_a_test_cancels_its_open_runs(stage: Stage) -> None:
    stage.play(Rule((Hang(3),), part="assistant"))
    test_id = await stage.make_test(**PLAIN)
    async with stage.worker():
        await stage.start(test_id)
        await until(lambda: stage.llms.stats.by_llm.get("assistant"))
        assert (await stage.http.delete(f"/api/v1/agentic-tests/{test_id}")).status_code == 204
        await stage.llms.wait_until(lambda stats: stats.cancelled == 1, timeout_s=2.0)

        async def is_cancelled() -> bool:
            return await stage.rows("SELECT state FROM runs") == [{"state": "cancelled"}]

        await until(is_cancelled)


# Export


def test_published_schema_is_the_one_in_use() -> None:
    assert json.loads(PUBLISHED.read_text()) == export_schema()


async def test_schema_is_served_to_everybody(stage: Stage) -> None:
    async with client_of(stage.url, {}) as nobody:
        answer = await nobody.get(SCHEMA_PATH)
    assert answer.json() == export_schema()


async def test_exports_fit_their_schema_and_hold_the_whole_run(stage: Stage) -> None:
    schema = export_schema()
    Draft202012Validator.check_schema(schema)
    stage.play(*eventful())
    eventful_test = await stage.make_test(**EVENTFUL_FIELDS)
    async with stage.worker():
        ended = await stage.start(eventful_test)
        detail = await stage.finished(ended)
        stage.play(Rule((Say(""),), part="user"))
        failed = await stage.start(await stage.make_test(**PLAIN, allow_user_exit=False))
        assert (await stage.finished(failed))["error"]["code"] == "user_inference"
    pending = await stage.start(eventful_test)
    for path in (ended, failed, pending):
        answer = await stage.http.get(f"{path}/export")
        assert answer.status_code == 200
        assert answer.headers["content-disposition"].endswith(f'parley-run-{path[-36:]}.json"')
        Draft202012Validator(schema).validate(answer.json())
    exported = (await stage.http.get(f"{ended}/export")).json()
    assert (exported["format"], exported["version"]) == ("parley.run", 1)
    assert exported["run"] == detail


# Who may


@pytest.mark.parametrize(
    ("method", "tail", "allowed", "scope"),
    [
        ("POST", "", 202, "runs:write"),
        ("GET", "", 200, "tests:read"),
        ("GET", "/{run}", 200, "tests:read"),
        ("GET", "/{run}/export", 200, "tests:read"),
        ("POST", "/{run}/cancel", 202, "runs:write"),
        ("GET", "/{run}/events", 200, "tests:read"),
    ],
)
async def test_each_route_is_the_owners_alone(
    stage: Stage, stranger: Tenant, method: str, tail: str, allowed: int, scope: Any
) -> None:
    test_id = await stage.make_test()
    run_id = (await stage.start(test_id))[-36:]
    route = runs_of(test_id) + tail.format(run=run_id)
    database, account_id = stage.services.database, stage.tenant.account_id
    lacking = await make_key(
        database, account_id, scopes=("runs:write",) if scope == "tests:read" else ("tests:read",)
    )
    enough = await make_key(database, account_id, scopes=(scope,))

    async def asked(path: str, auth: dict[str, str]) -> int:
        async with client_of(stage.url, auth) as client, client.stream(method, path) as answer:
            return answer.status_code

    assert await asked(route, {}) == 401
    assert await asked(route, stage.tenant.public.auth) == 403
    assert await asked(route, lacking.auth) == 403
    assert await asked(route, stranger.auth) == 404
    unknown = runs_of(str(uuid4())) + tail.format(run=run_id)
    assert await asked(unknown, stage.tenant.auth) == 404
    if tail:
        assert await asked(runs_of(test_id) + tail.format(run=uuid4()), stage.tenant.auth) == 404
        other = await stage.make_test()
        assert await asked(runs_of(other) + tail.format(run=run_id), stage.tenant.auth) == 404
    assert await asked(route, enough.auth) == allowed


async def test_cancel_by_another_account_leaves_no_trace(stage: Stage, stranger: Tenant) -> None:
    """C182."""
    test_id = await stage.make_test()
    path = await stage.start(test_id)
    async with client_of(stage.url, stranger.auth) as client:
        assert (await client.post(f"{path}/cancel")).status_code == 404
    [run] = await stage.rows("SELECT state, cancel_requested_at, last_seq FROM runs")
    assert (run["state"], run["cancel_requested_at"], run["last_seq"]) == ("pending", None, 0)


async def test_unknown_and_foreign_ids_are_told_alike(stage: Stage, stranger: Tenant) -> None:
    path = await stage.start(await stage.make_test())
    async with client_of(stage.url, stranger.auth) as client:
        foreign = await client.get(path)
        unknown = await client.get(f"{path[:-36]}{UUID(int=1)}")
        odd = await client.get(f"{path[:-36]}nonsense")
    assert foreign.json() == unknown.json() == odd.json()
    assert foreign.status_code == 404


# Ends that nobody wished for


class TestTimeLimit:
    """Runs that may take half a second."""

    @pytest.fixture
    def stage_settings(self, stage_settings: Settings) -> Settings:
        return dataclasses.replace(stage_settings, run=RunSettings(wall_time_s=0.5))

    async def test_run_that_takes_too_long_ends_with_what_was_said(self, stage: Stage) -> None:
        stage.play(Rule((Hang(3),), part="assistant"))
        async with stage.worker():
            run = await stage.finished(await stage.start(await stage.make_test(**PLAIN)))
        assert (run["state"], run["error"]["code"]) == ("failed", "time_limit")
        assert [item["role"] for item in run["conversation"]] == ["user"]
        assert [one["reason"] for one in run["attempts"]] == ["cancelled"]
        assert stage.llms.stats.cancelled == 1

    async def test_direct_evaluation_that_takes_too_long_ends_alike(self, stage: Stage) -> None:
        stage.play(Rule((Hang(3),), part="assistant"))
        frames = (await stage.evaluated(**PLAIN)).frames
        assert_one_end(frames)
        assert frames[-1].data["code"] == "time_limit"
        assert stage.llms.stats.cancelled == 1


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("UPDATE accounts SET status = 'suspended'", "account_suspended"),
        ("UPDATE accounts SET balance = 0", "balance_exhausted"),
    ],
)
async def test_account_that_may_not_go_on_finishes_the_turn_it_has_begun(
    stage: Stage, change: str, code: str
) -> None:
    stage.play(Rule((Say("Let me see.", latency_ms=300),), part="assistant"))
    test_id = await stage.make_test(max_turns=4, profile="low")
    async with stage.worker():
        path = await stage.start(test_id)
        await until(lambda: stage.llms.stats.by_llm.get("assistant"))
        await stage.rows(change)

        async def has_ended() -> bool:
            return await stage.rows("SELECT state FROM runs") == [{"state": "failed"}]

        await until(has_ended)
    await stage.rows("UPDATE accounts SET status = 'active'")
    run = await stage.read(path)
    assert (run["error"]["code"], run["error"]["turn"]) == (code, 2)
    assert [item["role"] for item in run["conversation"]] == ["user", "assistant", "judge"]
    assert (run["outcome"], run["score"]) == (None, 0.5)


async def test_run_whose_gateway_is_gone_fails_and_says_so(stage: Stage) -> None:
    other = await make_gateway(stage.http, stage.llms, name="Other")
    test_id = await stage.make_test(**PLAIN, gateway=other["slug"])
    path = await stage.start(test_id)
    moved = {"gateway": stage.gateway["slug"]}
    assert (await stage.http.patch(f"/api/v1/agentic-tests/{test_id}", json=moved)).status_code == 200
    assert (await stage.http.delete(f"/api/v1/ai-gateways/{other['id']}")).status_code == 204
    async with stage.worker():
        run = await stage.finished(path)
    assert (run["state"], run["error"]["code"], run["error"]["turn"]) == ("failed", "gateway_inference", 0)
    assert stage.llms.stats.requests == 0


async def test_runs_of_a_deleted_test_are_hidden_with_it(stage: Stage) -> None:
    test_id = await stage.make_test(**PLAIN)
    path = await stage.start(test_id)
    assert (await stage.http.delete(f"/api/v1/agentic-tests/{test_id}")).status_code == 204
    for method, address in (
        ("GET", runs_of(test_id)),
        ("POST", runs_of(test_id)),
        ("GET", path),
        ("GET", f"{path}/export"),
        ("GET", f"{path}/events"),
        ("POST", f"{path}/cancel"),
    ):
        assert (await stage.http.request(method, address)).status_code == 404, address
