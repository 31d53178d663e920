"""Scripted cases against a gateway, played by workers: kept, handed over, charged, ended once."""

from __future__ import annotations

import dataclasses
import itertools
from decimal import Decimal
from typing import Any

import pytest

from parley.engine.chat.pieces import Usage
from parley.server.attempts import claim as claims
from parley.server.attempts import keep
from parley.server.attempts.keep import Charge, LeaseLost
from parley.server.config import ProfileSettings
from parley.server.kit.ids import new_id
from parley.server.llm.demo import CallTool, Hang, Rule, Say
from tests.integration.suites.scene import EVALUATIONS, URL, begin, ended, make_tests, plays, results, tick_of
from tests.integration.suites.script_scene import SUITE, agent_plays, target_of
from tests.receivers import receiving, says
from tests.stage import PATIENCE_S, Stage, until

ANSWER: dict[str, Any] = {"type": "answer"}


def case(case_id: str, *messages: str, **fields: Any) -> dict[str, Any]:
    """A case of plain messages, each to be answered."""
    return {"id": case_id, "steps": [{"message": one, "expect": ANSWER} for one in messages]} | fields


async def make_script(stage: Stage, *cases: dict[str, Any], target: Any = None, **fields: Any) -> str:
    """A suite of scripted cases; gives its id."""
    plain = {"type": "gateway", "gateway": stage.gateway["slug"], "toolVisibility": "full"}
    script = {"suite": {"id": "shop", "cases": list(cases)}, "target": plain | (target or {})}
    answer = await stage.http.post(URL, json={"name": "Shop", "script": script} | fields)
    assert answer.status_code == 201, answer.text
    suite_id: str = answer.json()["data"]["id"]
    return suite_id


async def attempts(stage: Stage, evaluation_id: str) -> dict[str, dict[str, Any]]:
    """The attempts of an evaluation with their records, by case."""
    path = f"{EVALUATIONS}/{evaluation_id}/attempts"
    listed: Any = await stage.read(path)
    return {one["case_id"]: await stage.read(f"{path}/{one['id']}") for one in listed}


async def open_attempts(stage: Stage) -> int:
    return len(await stage.rows("SELECT id FROM attempts WHERE state <> 'finished'"))


async def test_every_inference_is_charged_once_and_costs_stand_apart(stage: Stage) -> None:
    stage.play(*agent_plays())
    before = (await stage.rows("SELECT balance FROM accounts"))[0]["balance"]
    async with receiving() as receiver, stage.worker():
        script = {"suite": SUITE, "target": target_of(stage, receiver)}
        made = await stage.http.post(URL, json={"name": "Refunds", "script": script})
        evaluation = await ended(stage, await begin(stage, made.json()["data"]["id"], repetitions=2))
        calls = [call.json for call in receiver.at("/verify")]
    assert {call["event"]["name"] for call in calls} == {"verify"}
    assert [call.get("params") for call in calls].count({"customer": "c-1"}) == 2
    [charged] = await stage.rows(
        "SELECT count(*) FILTER (WHERE role = 'assistant') AS assistant, sum(amount) AS amount,"
        "       count(*) FILTER (WHERE role = 'judge') AS judge FROM ledger WHERE source = 'evaluation'"
    )
    rows = await stage.rows("SELECT * FROM attempts")
    asked = [one.llm for one in stage.llms.requests]
    assert (charged["assistant"], charged["judge"]) == (asked.count("assistant"), asked.count("judge"))
    after = (await stage.rows("SELECT balance FROM accounts"))[0]["balance"]
    assert before - after == -charged["amount"] == sum(row["charged"] for row in rows)
    assert all(row["charged"] == row["workflow_cost"] + row["judge_cost"] for row in rows)
    assert evaluation["cost"] == pytest.approx(float(before - after))
    assert evaluation["statistics"]["expected_count"] == len(rows) == 6
    assert await stage.rows("SELECT count(*) AS n FROM quota_units") == [{"n": 6}]
    found = await results(stage, evaluation["id"])
    assert [(one["status"], one["rating"]) for one in found[::2]] == [
        ("rated", 10),
        ("rated", 5),
        ("rated", 0),
    ]


async def test_charge_whose_answer_was_lost_is_made_once_and_only_under_the_lease(stage: Stage) -> None:
    suite = await make_script(stage, case("one", "Go."))
    await begin(stage, suite)
    await tick_of(stage.services).once()
    database = stage.services.database
    assert await claims.claim(database, 5, 30, "w", ["app"]) == []
    [held] = await claims.claim(database, 5, 30, "w", ["gateway"])
    assert await claims.claim(database, 5, 30, "w", ["gateway"]) == []
    usage = Usage(model="assistant", prompt_tokens=3, completion_tokens=2)
    charge = Charge(amount=Decimal("0.25"), role="assistant", usage=usage)
    first = await keep.charge(database, held, 1, charge)
    assert await keep.charge(database, held, 1, charge) == first
    lost = dataclasses.replace(held, token=new_id())
    for work in (keep.charge(database, lost, 2, charge), keep.keep(database, lost, None, cursor=1)):
        with pytest.raises(LeaseLost):
            await work
    assert await keep.renew(database, [held, lost], 30) == {held.attempt_id}
    [row] = await stage.rows("SELECT charged, last_charge, cursor FROM attempts")
    assert row == {"charged": Decimal("0.25"), "last_charge": 1, "cursor": 0}
    [entry] = await stage.rows("SELECT source_id, seq, amount FROM ledger WHERE source = 'evaluation'")
    assert entry == {"source_id": held.attempt_id, "seq": 1, "amount": Decimal("-0.25")}


async def test_lost_worker_leaves_its_evidence_and_replays_only_what_is_safe(stage: Stage) -> None:
    stage.play(Rule((Hang(),), part="assistant", contains="second"), Rule((Say("Yes."),), part="assistant"))
    steps = ("first", "the second")
    suite = await make_script(stage, case("lost", *steps), case("again", *steps, replaySafe=True))
    async with stage.worker() as first:
        evaluation_id = await begin(stage, suite, repetitions=1)
        await until(lambda: sum(one.behaviour == "hang" for one in stage.llms.requests) == 2)
        await first.kill()
    stage.play(Rule((Say("Yes."),), part="assistant"))
    async with stage.worker():
        evaluation = await ended(stage, evaluation_id, 3 * PATIENCE_S)
    found = await attempts(stage, evaluation_id)
    lost, again = found["lost"], found["again"]
    assert (lost["status"], lost["record"]["errors"][0]["code"]) == ("error", "worker_lost")
    assert [step["observation"]["text"] for step in lost["record"]["steps"]] == ["Yes."]
    assert (again["status"], len(again["record"]["steps"])) == ("passed", 2)
    assert evaluation["state"] == "completed"
    assert {one["case_id"]: one["status"] for one in await results(stage, evaluation_id)} == {
        "lost": "skipped",
        "again": "rated",
    }


async def test_worker_that_stops_hands_over_what_is_safe_and_ends_the_rest(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley.server.attempts.worker.DRAIN_S", 0.1)
    stage.play(Rule((Hang(),), part="assistant"))
    suite = await make_script(stage, case("bound", "first"), case("safe", "first", replaySafe=True))
    async with stage.worker() as first:
        evaluation_id = await begin(stage, suite)
        await until(lambda: len(stage.llms.requests) == 2)
        await first.stop()
    found = await attempts(stage, evaluation_id)
    assert found["bound"]["record"]["errors"][0]["code"] == "worker_stopped"
    assert (found["safe"]["state"], found["safe"]["status"]) == ("running", None)
    stage.play(Rule((Say("Yes."),), part="assistant"))
    async with stage.worker():
        await ended(stage, evaluation_id)
    assert (await attempts(stage, evaluation_id))["safe"]["status"] == "passed"


async def test_cancel_ends_what_is_played_and_what_waits(stage: Stage) -> None:
    stage.play(Rule((Hang(),), part="assistant", contains="second"), Rule((Say("Yes."),), part="assistant"))
    steps = ("first", "the second")
    suite = await make_script(stage, *(case(f"case {number}", *steps) for number in range(3)))
    async with stage.worker():
        evaluation_id = await begin(stage, suite, concurrency=2)
        await until(lambda: sum(one.behaviour == "hang" for one in stage.llms.requests) == 2)
        answer = await stage.http.post(f"{EVALUATIONS}/{evaluation_id}/cancel")
        assert answer.status_code == 202
        await until(lambda: nothing_is_open(stage))
    found = await attempts(stage, evaluation_id)
    assert [one["status"] for one in found.values()] == ["cancelled"] * 2
    assert [len(one["record"]["steps"]) for one in found.values()] == [2, 2]
    assert {one["error"]["type"] for one in await results(stage, evaluation_id)} == {"cancelled"}


async def nothing_is_open(stage: Stage) -> bool:
    return not await open_attempts(stage) and not await stage.rows("SELECT id FROM suite_progress")


async def test_cases_with_one_lock_never_run_together_and_keep_no_slot(stage: Stage) -> None:
    stage.play(Rule((Say("Yes.", latency_ms=120),), part="assistant"))
    locked = [case(f"locked {number}", "Go.", lock="till") for number in range(3)]
    suite = await make_script(stage, *locked, case("free", "Go.", repetitions=2))
    async with stage.worker():
        evaluation = await ended(stage, await begin(stage, suite, concurrency=2))
    assert evaluation["statistics"]["expected_count"] == evaluation["statistics"]["rated_count"] == 5
    rows = await stage.rows("SELECT lock, started_at, finished_at FROM attempts ORDER BY started_at")
    held = [row for row in rows if row["lock"]]
    assert all(one["finished_at"] <= other["started_at"] for one, other in itertools.pairwise(held))
    free = [row for row in rows if not row["lock"]]
    assert all(row["started_at"] < held[-1]["started_at"] for row in free)


async def test_calls_nobody_declared_and_spent_balances_end_attempts(stage: Stage) -> None:
    stage.play(
        Rule((CallTool("delete_all"),), part="assistant", contains="Delete"),
        Rule((CallTool("find", "[]"),), part="assistant", contains="Find"),
        Rule((CallTool("ask", '{"id": 1}'), Say("So be it.")), part="assistant", contains="Ask"),
    )
    async with receiving() as receiver, stage.worker():
        url = receiver.on("/tool", says(200, b'{"error": "no such thing"}', content_type="application/json"))
        tools = [
            {"type": "auto", "name": "find", "stubs": [{"result": 1}]},
            {"type": "auto", "name": "ask", "webhook": {"url": url}},
        ]
        cases = [case("undeclared", "Delete it."), case("unreadable", "Find it."), case("asked", "Ask it.")]
        suite = await make_script(stage, *cases, target={"tools": tools})
        evaluation = await ended(stage, await begin(stage, suite))
        [call] = receiver.at("/tool")
        assert call.json["event"] == {
            "name": "tool-call",
            "data": {"name": "ask", "callId": "call_1", "arguments": {"id": 1}},
        }
        await stage.rows("UPDATE accounts SET balance = $1", Decimal("0.000001"))
        stage.play(Rule((Say("Yes."),), part="assistant"))
        poor = await ended(
            stage, await begin(stage, await make_script(stage, case("poor", "a", "b", "c"))), PATIENCE_S
        )
    found = await attempts(stage, evaluation["id"])
    codes = {name: one["record"]["steps"][0]["observation"]["events"][-1] for name, one in found.items()}
    assert codes["undeclared"]["error"]["code"] == "call_undeclared"
    assert codes["unreadable"]["error"]["code"] == "call_unreadable"
    assert (codes["asked"]["type"], codes["asked"]["error"]) == ("tool-call-error", "no such thing")
    told = {one["case_id"]: (one["status"], one["passed"]) for one in await results(stage, evaluation["id"])}
    assert told == {
        "undeclared": ("failed", False),
        "unreadable": ("failed", False),
        "asked": ("rated", True),
    }
    [end] = await results(stage, poor["id"])
    assert (end["status"], end["error"]["type"]) == ("skipped", "balance_exhausted")


async def test_pinned_judge_that_changed_is_an_error_before_anything_is_said(stage: Stage) -> None:
    step = {"message": "Hello?", "expect": {"type": "answer", "criteria": ["Greets back."]}}
    suite = await make_script(stage, {"id": "greets", "steps": [step]})
    evaluation_id = await begin(stage, suite)
    other = dataclasses.replace(stage.settings, profile=ProfileSettings(low_user="user", low_judge="judge-2"))
    async with stage.worker(dataclasses.replace(other, llm=stage.settings.llm)):
        evaluation = await ended(stage, evaluation_id)
    [attempt] = (await attempts(stage, evaluation["id"])).values()
    assert (attempt["status"], attempt["record"]["errors"][0]["code"]) == ("error", "judge_changed")
    assert (attempt["record"]["steps"], list(stage.llms.requests)) == ([], [])
    [result] = await results(stage, evaluation["id"])
    assert (result["status"], result["error"]["type"]) == ("skipped", "judge_changed")


async def test_answers_are_asked_for_as_structured_outputs_by_name(stage: Stage) -> None:
    schema = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
    stage.play(
        Rule((Say('{"sum": 3}'),), part="assistant", contains="Add"), Rule((Say("Three."),), part="assistant")
    )
    expect = {"type": "answer", "outputs": [{"schemaId": "total", "schemaVersion": "1"}]}
    cases = [{"id": one, "steps": [{"message": one, "expect": expect}]} for one in ("Add", "Tell")]
    outputs = [{"schemaId": "total", "schemaVersion": "1", "jsonSchema": schema}]
    async with stage.worker():
        suite = await make_script(stage, *cases, target={"outputs": outputs})
        evaluation = await ended(stage, await begin(stage, suite))
    found = await attempts(stage, evaluation["id"])
    assert {name: one["status"] for name, one in found.items()} == {"Add": "passed", "Tell": "failed"}
    [output] = found["Add"]["record"]["steps"][0]["observation"]["structured"]
    assert output == {"schemaId": "total", "schemaVersion": "1", "status": "done", "data": {"sum": 3}}
    [asked, _] = [one.body["response_format"] for one in stage.llms.requests]
    assert asked == {
        "type": "json_schema",
        "json_schema": {"name": "total", "strict": True, "schema": schema},
    }


async def test_spent_budget_begins_no_more_attempts(stage: Stage) -> None:
    stage.play(Rule((Say("Yes."),), part="assistant"))
    suite = await make_script(stage, *(case(f"case {number}", "Go.") for number in range(3)))
    async with stage.worker():
        evaluation = await ended(stage, await begin(stage, suite, concurrency=1, budget_usd=0.000001))
    found = await results(stage, evaluation["id"])
    assert [one["status"] for one in found] == ["rated", "skipped", "skipped"]
    assert {one["error"]["type"] for one in found[1:]} == {"budget_spent"}
    assert len(await attempts(stage, evaluation["id"])) == 1


async def test_mixed_suite_is_compared_and_gated_like_any_other(stage: Stage) -> None:
    stage.play(*plays(), Rule((Say("Hello."),), part="assistant"))
    tests = await make_tests(stage, "win")
    body = {"cases": [{"test_id": tests[0]}]}
    suite = await make_script(stage, case("greets", "Hello?", splits=["smoke"]), **body)
    async with stage.worker():
        first = await ended(stage, await begin(stage, suite))
        second = await ended(stage, await begin(stage, suite))
        part = await ended(stage, await begin(stage, suite, cases=["greets"]))
    kinds = [(one["kind"], one["passed"]) for one in await results(stage, second["id"])]
    assert kinds == [("simulated", True), ("scripted", True)]
    compared = await stage.read(f"{EVALUATIONS}/{second['id']}/compare?baseline={first['id']}")
    assert (compared["comparable"], compared["paired_count"]) == (True, 2)
    assert (await stage.read(f"{EVALUATIONS}/{second['id']}/gate?minPassRate=1&noRegression=true"))["passed"]
    assert (part["case_count"], part["baseline_id"]) == (1, None)
