"""Posted results are scored by workers: once, charged once, whatever dies in between."""

from __future__ import annotations

import asyncio
import dataclasses
from decimal import Decimal
from typing import Any

import pytest
from pydantic import SecretStr

from parley.server.config import RedisSettings
from parley.server.llm.demo import Hang, Rule, Say, Status
from tests.factories.datasets import make, make_dataset, post, question, result, start_run
from tests.stage import Stage, until


def rating(value: float, reasoning: str = "Because of what it says.") -> Say:
    """What a judge says when its rating is valid."""
    return Say(f'{{"reasoning": "{reasoning}", "rating": {value}}}', chunks=4)


async def run_of(stage: Stage, questions: Any = 1, settings: dict[str, Any] | None = None, **run: Any) -> str:
    """A run of a new dataset, with settings of its own if they are given."""
    if settings is not None:
        made = await make(stage.http, "/evaluation-settings", {"name": "Grader", **settings})
        run["evaluationSettingsId"] = made["id"]
    return await start_run(stage.http, await make_dataset(stage.http, questions), **run)


async def charges(stage: Stage) -> list[dict[str, Any]]:
    """The ledger of the stage's judges."""
    return await stage.rows("SELECT * FROM ledger WHERE source = 'evaluation' ORDER BY source_id, seq")


async def results_of(stage: Stage) -> list[dict[str, Any]]:
    """All results, in the order of cases."""
    return await stage.rows("SELECT * FROM case_results ORDER BY case_id, repetition")


async def scored(stage: Stage, run_id: str, *results: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Post to a worker and wait for the scores; they are given by their cases."""
    async with stage.worker():
        posted = await post(stage.http, run_id, results, wait=15)
    return {each["caseId"]: each for each in posted["scoredResults"]}


def told_the_judge(stage: Stage) -> str:
    """The words of the newest request."""
    return "\n".join(message["content"] for message in stage.llms.requests[-1].body["messages"])


async def test_posted_results_are_judged_and_completed(stage: Stage) -> None:
    stage.play(Rule((rating(8.5),), part="judge", contains="Answer 0."), Rule((rating(3),), part="judge"))
    run_id = await run_of(stage, [question(0), question(1, expectedResults="Yes.")])
    async with stage.worker():
        posted = await post(stage.http, run_id, [result("q0"), result("q1", "No idea.")], wait=10)
        assert (posted["accepted"], posted["duplicates"], posted["failedValidation"]) == (2, 0, [])
        told = {each["caseId"]: each for each in posted["scoredResults"]}
        assert {case: each["rating"] for case, each in told.items()} == {"q0": 8.5, "q1": 3}
        assert (told["q0"]["passed"], told["q1"]["passed"]) == (True, False)
        ended = await make(stage.http, f"/runs/{run_id}/finalize", {})
    assert (ended["status"], ended["missingCases"]) == ("completed", [])
    assert ended["liveStatistics"]["averageRating"] == 5.75


async def test_each_attempt_of_the_judge_is_charged_once_with_its_score(stage: Stage) -> None:
    """Two unreadable replies and a good one are three inferences, whose sum is what the result cost."""
    stage.play(Rule((Say("I like it."), Say('{"rating": 11, "reasoning": "x"}'), rating(9)), part="judge"))
    before = await stage.rows("SELECT balance FROM accounts WHERE id = $1", stage.tenant.account_id)
    told = await scored(stage, await run_of(stage), result("q0"))
    assert told["q0"]["rating"] == 9
    lines = await charges(stage)
    [row] = await results_of(stage)
    [evaluation] = await stage.rows("SELECT cost FROM evaluations")
    after = await stage.rows("SELECT balance FROM accounts WHERE id = $1", stage.tenant.account_id)
    assert [(line["seq"], line["role"], line["source_id"]) for line in lines] == [
        (seq, "judge", row["id"]) for seq in (1, 2, 3)
    ]
    total = -sum(line["amount"] for line in lines)
    assert total > 0
    assert row["cost"] == evaluation["cost"] == before[0]["balance"] - after[0]["balance"] == total


@pytest.mark.parametrize("answer", [Say("No JSON."), Status(401), Say('{"reasoning": "x", "rating": NaN}')])
async def test_unreadable_judge_makes_it_skipped_and_never_zero(stage: Stage, answer: Any) -> None:
    stage.play(Rule((answer,), part="judge"))
    run_id = await run_of(stage)
    told = (await scored(stage, run_id, result("q0")))["q0"]
    assert (told["status"], told["rating"], told["passed"]) == ("skipped", None, None)
    ended = await make(stage.http, f"/runs/{run_id}/finalize", {})
    assert ended["liveStatistics"]["coverage"] == 0
    gate = await stage.http.get(f"/api/v1/custom-agent-evaluations/runs/{run_id}/gate?failUnder=0")
    assert gate.json()["passed"] is False, "C201 C203: nothing that is rated never passes"


async def test_judge_that_answers_in_the_end_is_asked_again(stage: Stage) -> None:
    stage.play(Rule((Status(503), Status(429), rating(7)), part="judge"))
    told = (await scored(stage, await run_of(stage), result("q0")))["q0"]
    assert (told["status"], told["rating"], told["passed"]) == ("rated", 7, True)


async def test_judge_without_schemas_is_asked_without_one(stage: Stage) -> None:
    stage.play(Rule((Status(400), rating(6)), part="judge"))
    assert (await scored(stage, await run_of(stage), result("q0")))["q0"]["rating"] == 6
    assert "response_format" not in stage.llms.requests[-1].body


async def test_median_of_the_votes_counts_and_all_are_kept_and_charged(stage: Stage) -> None:
    stage.play(Rule((rating(2), rating(9), rating(8)), part="judge"))
    told = (await scored(stage, await run_of(stage, settings={"votes": 3}), result("q0")))["q0"]
    assert told["rating"] == 8
    [row] = await results_of(stage)
    assert sorted(vote["rating"] for vote in row["judgement"]["votes"]) == [2, 8, 9]
    assert len(await charges(stage)) == 3


async def test_agents_own_failures_are_zero_at_once_and_ask_no_judge(stage: Stage) -> None:
    run_id = await run_of(stage, 3)
    broken = result("q0", None, error={"type": "timeout", "message": "It took too long."})
    posted = await post(stage.http, run_id, [broken, result("q1", ""), result("q2", " \n ")])
    told = [(each["status"], each["rating"], each["passed"]) for each in posted["scoredResults"]]
    assert told == [("failed", 0, False)] * 3
    assert [row["error"]["type"] for row in await results_of(stage)] == [
        "timeout",
        "empty_output",
        "empty_output",
    ]


async def test_used_up_balance_skips_and_asks_no_judge(stage: Stage) -> None:
    stage.play(Rule((rating(9),), part="judge"))
    run_id = await run_of(stage)
    async with stage.services.database.raw() as connection:
        await connection.execute("UPDATE accounts SET balance = 0 WHERE id = $1", stage.tenant.account_id)
    told = (await scored(stage, run_id, result("q0")))["q0"]
    assert (told["status"], told["rating"]) == ("skipped", None)
    [row] = await results_of(stage)
    assert row["error"]["type"] == "balance_exhausted"
    assert stage.llms.stats.requests == 0


CHECKS = [
    ({"type": "contains", "text": "30 days", "mustPass": True}, "In 30 days.", ("rated", 9, True)),
    ({"type": "contains", "text": "30 days", "mustPass": True}, "Soon.", ("rated", 0, False)),
    ({"type": "contains", "text": "30 days"}, "Soon.", ("rated", 9, True)),
    ({"type": "latency", "maxMs": 5, "mustPass": True}, "Soon.", ("skipped", None, None)),
    ({"type": "latency", "maxMs": 5}, "Soon.", ("rated", 9, True)),
]


@pytest.mark.parametrize(("check", "answer", "wanted"), CHECKS)
async def test_checks_that_must_pass_decide(
    stage: Stage, check: dict[str, Any], answer: str, wanted: tuple[str, float | None, bool | None]
) -> None:
    stage.play(Rule((rating(9),), part="judge"))
    told = (await scored(stage, await run_of(stage, [question(0, checks=[check])]), result("q0", answer)))[
        "q0"
    ]
    assert (told["status"], told["rating"], told["passed"]) == wanted
    [row] = await results_of(stage)
    assert [found["type"] for found in row["checks"]] == [check["type"]]


async def test_settings_decide_pass_mark_and_checks_and_the_judge_is_told_the_criteria(stage: Stage) -> None:
    stage.play(Rule((rating(6),), part="judge"))
    settings = {
        "passRating": 6,
        "criteria": "Be brief.",
        "checks": [{"type": "regex", "pattern": "^A", "id": "a"}],
    }
    run_id = await run_of(stage, settings=settings)
    told = (await scored(stage, run_id, result("q0")))["q0"]
    assert (told["rating"], told["passed"]) == (6, True)
    [row] = await results_of(stage)
    assert (row["checks"][0]["id"], row["checks"][0]["passed"]) == ("a", True)
    assert "Be brief." in told_the_judge(stage)


async def test_expected_tools_are_checked_and_told(stage: Stage) -> None:
    stage.play(Rule((rating(9),), part="judge"))
    expected = {"tools": ["find_order", "refund"], "mode": "strict"}
    calls = [{"name": "refund", "arguments": {"id": 7}}, {"name": "find_order"}]
    await scored(
        stage, await run_of(stage, [question(0, expectedTrajectory=expected)]), result("q0", toolCalls=calls)
    )
    [row] = await results_of(stage)
    assert [(found["id"], found["passed"]) for found in row["checks"]] == [("expectedTrajectory", False)]
    assert '"name": "refund"' in told_the_judge(stage)


async def test_killed_workers_results_are_scored_by_another_once(stage: Stage) -> None:
    """What it had scored stays; what it held is judged again when its lease has ended."""
    stage.play(
        Rule((rating(9),), part="judge", contains="Quick."),
        Rule((Hang(),), part="judge", times=3),
        Rule((rating(5),), part="judge"),
    )
    run_id = await run_of(stage, 6)
    answers = ["Quick.", "Quick.", "Quick.", "Slow.", "Slow.", "Slow."]
    await post(stage.http, run_id, [result(f"q{at}", text) for at, text in enumerate(answers)])
    async with stage.worker() as first:
        await until(lambda: _count(stage, "status = 'rated'", 3))
        await until(lambda: first.worker._scorer.held == 3)
        kept = {row["id"]: row["scored_at"] for row in await results_of(stage) if row["scored_at"]}
        await first.kill()
        assert await _count(stage, "status = 'scoring'", 3)
    async with stage.worker():
        ended = await make(stage.http, f"/runs/{run_id}/finalize", {"wait": 15})
    assert ended["status"] == "completed"
    rows = await results_of(stage)
    assert [row["rating"] for row in rows] == [9, 9, 9, 5, 5, 5]
    assert {row["id"]: row["scored_at"] for row in rows if row["id"] in kept} == kept
    answer = await stage.http.get(f"/api/v1/evaluations/{run_id}/results")
    assert [each["lost_scorers"] for each in answer.json()["data"]] == [0, 0, 0, 1, 1, 1]
    paid = [line["source_id"] for line in await charges(stage)]
    assert sorted(paid) == sorted(row["id"] for row in rows), "one charge for one result"


async def test_stopped_worker_hands_its_results_over_at_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley.server.custom_evaluations.scorer.DRAIN_S", 0.1)
    stage.play(Rule((Say("Hm."), Hang(), rating(5)), part="judge"))
    await post(stage.http, await run_of(stage), [result("q0")])
    async with stage.worker():
        await until(lambda: len(stage.llms.requests) == 2)
    [row] = await results_of(stage)
    assert (row["status"], row["attempts"], row["lease_token"]) == ("pending", 0, None)
    [spent] = await charges(stage)
    assert spent["amount"] == -row["cost"] < 0, "the attempt that it knows of is charged"
    async with stage.worker():
        await until(lambda: _count(stage, "rating = 5", 1))
    [row] = await results_of(stage)
    lines = await charges(stage)
    assert [line["seq"] for line in lines] == [1, 2]
    assert -sum(line["amount"] for line in lines) == row["cost"]
    assert lines[0] == spent


async def test_results_are_scored_with_redis_gone(stage: Stage) -> None:
    stage.play(Rule((rating(5),), part="judge"))
    gone = dataclasses.replace(
        stage.settings, redis=RedisSettings(url=SecretStr("redis://127.0.0.1:9/0"), timeout_s=0.2)
    )
    await post(stage.http, await run_of(stage), [result("q0")])
    async with stage.worker(gone):
        await until(lambda: _count(stage, "rating = 5", 1))


async def test_evaluation_whose_last_scorer_died_before_completing_it_is_completed(stage: Stage) -> None:
    run_id = await run_of(stage)
    await post(stage.http, run_id, [result("q0", "")])
    await stage.rows("UPDATE evaluations SET state = 'scoring'")
    async with stage.worker() as worker:
        await worker.worker._scorer.complete_forgotten()
    assert (await stage.rows("SELECT state FROM evaluations"))[0]["state"] == "completed"


async def test_calls_that_wait_hold_no_connection(stage: Stage) -> None:
    """More of them than the pool has connections wait, and the service still answers."""
    run_id = await run_of(stage, 30)
    waiting = [
        asyncio.create_task(post(stage.http, run_id, [result(f"q{at}")], wait=2, batch=f"b{at}"))
        for at in range(30)
    ]
    await until(lambda: _count(stage, "status = 'pending'", 30))
    await until(lambda: stage.services.database.connections_taken <= 5)
    assert not all(task.done() for task in waiting)
    assert [each["scoredResults"] for each in await asyncio.gather(*waiting)] == [[]] * 30


async def test_regraded_run_is_judged_by_the_new_grader(stage: Stage) -> None:
    stage.play(Rule((rating(2),), part="judge", contains="Be strict."), Rule((rating(9),), part="judge"))
    run_id = await run_of(stage)
    async with stage.worker():
        await post(stage.http, run_id, [result("q0")], wait=10)
        await make(stage.http, f"/runs/{run_id}/finalize", {})
        answer = await stage.http.post(
            f"/api/v1/evaluations/{run_id}/regrade", json={"criteria": "Be strict."}
        )
        assert answer.status_code == 202, answer.text
        regraded = answer.json()["data"]["id"]
        await until(lambda: _count(stage, "rating = 2", 1))
        flips = (await stage.http.get(f"/api/v1/evaluations/{regraded}/flips")).json()["data"]
    told = [(flip["case_id"], flip["rating_was"], flip["rating_is"]) for flip in flips]
    assert told == [("q0", 9, 2)]


async def _count(stage: Stage, condition: str, wanted: int) -> bool:
    rows = await stage.rows(f"SELECT count(*) AS n FROM case_results WHERE {condition}")
    found: int = rows[0]["n"]
    return found == wanted


async def test_charges_and_balance_agree_for_many_scores_at_once(stage: Stage) -> None:
    stage.play(Rule((rating(5),), part="judge"))
    run_id = await run_of(stage, 40)
    async with stage.worker(), stage.worker():
        await post(stage.http, run_id, [result(f"q{at}") for at in range(40)], wait=20)
    sums = await stage.rows(
        "SELECT sum(amount) AS amount, count(*) AS n FROM ledger WHERE source = 'evaluation'"
    )
    [account] = await stage.rows("SELECT balance FROM accounts WHERE id = $1", stage.tenant.account_id)
    assert sums[0]["n"] == 40
    assert account["balance"] == Decimal(100) + sums[0]["amount"]
