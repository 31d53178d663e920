"""Suites carried out by workers, from the start to the last case result."""

from __future__ import annotations

import pytest

from parley.server.llm.demo import Hang, Rule
from tests.integration.suites.scene import (
    EVALUATIONS,
    begin,
    ended,
    make_suite,
    make_tests,
    plays,
    results,
    runs,
)
from tests.stage import Stage, make_gateway, until


async def test_each_case_and_repetition_has_one_run_and_one_result(stage: Stage) -> None:
    stage.play(*plays())
    tests = await make_tests(stage, "win", "LOSE", "BREAK")
    suite = await make_suite(stage, tests)
    async with stage.worker():
        evaluation = await ended(stage, await begin(stage, suite, repetitions=2, seed=7))
    assert evaluation["state"] == "completed", evaluation
    assert evaluation["statistics"]["coverage"] == 1
    found = await results(stage, evaluation["id"])
    assert [(one["case_id"], one["repetition"]) for one in found] == [(t, r) for t in tests for r in (1, 2)]
    ways = [("rated", True), ("rated", False), ("failed", False)]
    assert [(one["status"], one["passed"]) for one in found] == [way for way in ways for _ in range(2)]
    made = await runs(stage)
    assert sorted(str(run["id"]) for run in made) == sorted(one["run_id"] for one in found)
    assert {run["trigger"] for run in made} == {"suite"}
    assert len({run["seed"] for run in made}) == 6


async def test_figures_are_those_of_the_runs(stage: Stage) -> None:
    stage.play(*plays())
    suite = await make_suite(stage, await make_tests(stage, "win", "LOSE"))
    async with stage.worker():
        evaluation = await ended(stage, await begin(stage, suite))
    won, lost = await results(stage, evaluation["id"])
    path = f"/api/v1/agentic-tests/{won['case_id']}/runs/{won['run_id']}"
    run = await stage.read(path)
    assert won["rating"] == pytest.approx(10 * run["result"]["conversation_delta"], abs=0.005)
    assert lost["rating"] < 5 < won["rating"]
    assert (won["justification"], won["cost"]) == ("All was done.", run["cost"])
    assert won["cost"] > 0
    spoken = [item["took_ms"] for item in run["conversation"] if item["role"] == "assistant"]
    assert won["duration_ms"] == sum(spoken)
    assert evaluation["cost"] == pytest.approx(won["cost"] + lost["cost"])
    told = (await stage.read(f"{EVALUATIONS}/{evaluation['id']}/results/{won['id']}"))["judgement"]
    assert (told["outcome"], told["reason"]) == ("success", run["result"]["reason"])


async def test_runs_of_suites_do_not_touch_their_tests_health(stage: Stage) -> None:
    stage.play(*plays())
    tests = await make_tests(stage, "BREAK")
    async with stage.worker():
        await ended(stage, await begin(stage, await make_suite(stage, tests)))
        assert (await stage.read(f"/api/v1/agentic-tests/{tests[0]}"))["consecutive_failures"] == 0
        await stage.finished(await stage.start(tests[0]))

        async def is_counted() -> bool:
            test = await stage.read(f"/api/v1/agentic-tests/{tests[0]}")
            return bool(test["consecutive_failures"] == 1)

        await until(is_counted)


async def test_a_gateway_that_was_deleted_meanwhile_is_no_failure_of_the_agent(stage: Stage) -> None:
    stage.play(*plays())
    other = await make_gateway(stage.http, stage.llms, name="Gone soon", model="assistant-gone")
    suite = await make_suite(stage, await make_tests(stage, "win"))
    begun = await begin(stage, suite, gateway=other["slug"])
    assert (await stage.http.delete(f"/api/v1/ai-gateways/{other['id']}")).status_code == 204
    async with stage.worker():
        evaluation = await ended(stage, begun)
    [told] = await results(stage, begun)
    assert (told["status"], told["rating"], told["error"]["type"]) == ("skipped", None, "gateway_gone")
    assert evaluation["statistics"]["coverage"] == 0


async def test_another_gateway_is_tried_and_compared_case_by_case(stage: Stage) -> None:
    stage.play(*plays())
    other = await make_gateway(stage.http, stage.llms, name="Next", model="assistant-next")
    suite = await make_suite(stage, await make_tests(stage, "win", "LOSE"))
    async with stage.worker():
        first = await ended(stage, await begin(stage, suite))
        second = await ended(stage, await begin(stage, suite, gateway=other["slug"]))
    assert first["options"]["gateway"] is None
    assert second["options"]["gateway"]["slug"] == other["slug"]
    slugs = [run["definition"] for run in await runs(stage)]
    assert [one["gateway"]["slug"] for one in slugs] == [stage.gateway["slug"]] * 2 + [other["slug"]] * 2
    compared = await stage.read(f"{EVALUATIONS}/{second['id']}/compare?baseline={first['id']}")
    assert compared["comparable"], compared["differences"]
    assert compared["paired_count"] == 2
    assert second["baseline_id"] == first["id"]
    gate = await stage.read(f"{EVALUATIONS}/{second['id']}/gate?noRegression=true")
    assert gate["passed"], gate


async def test_spent_budget_stops_and_keeps_what_is_there(stage: Stage) -> None:
    stage.play(*plays())
    suite = await make_suite(stage, await make_tests(stage, "win", "win 2", "win 3"))
    async with stage.worker():
        body = {"budget_usd": 0.000001, "concurrency": 1, "repetitions": 2}
        evaluation = await ended(stage, await begin(stage, suite, **body))
    assert evaluation["state"] == "completed"
    found = await results(stage, evaluation["id"])
    [kept] = [one for one in found if one["status"] == "rated"]
    assert (kept["index"], kept["repetition"]) == (0, 1)
    assert {one["error"]["type"] for one in found if one is not kept} == {"budget_spent"}
    assert len(found) == 6
    assert len(await runs(stage)) == 1
    assert evaluation["statistics"]["coverage"] == pytest.approx(1 / 6, abs=0.001)


async def test_cancel_ends_open_runs_and_starts_no_more(stage: Stage) -> None:
    stage.play(Rule((Hang(),), part="assistant"))
    suite = await make_suite(stage, await make_tests(stage, "win", "win 2", "win 3"))
    async with stage.worker() as worker:
        evaluation_id = await begin(stage, suite, concurrency=2)
        await until(lambda: worker.held == 2)
        answer = await stage.http.post(f"{EVALUATIONS}/{evaluation_id}/cancel")
        assert (answer.status_code, answer.json()["data"]["state"]) == (202, "cancelled")

        async def all_ended() -> bool:
            return all(run["state"] == "cancelled" for run in await runs(stage))

        await until(all_ended)
        await until(lambda: is_empty(stage, "suite_progress"))
        await until(lambda: is_empty(stage, "outbox"))
    assert len(await runs(stage)) == 2
    found = await results(stage, evaluation_id)
    assert [(one["status"], one["error"]["type"]) for one in found] == [("skipped", "cancelled")] * 2
    assert (await stage.read(f"{EVALUATIONS}/{evaluation_id}"))["state"] == "cancelled"


async def test_killed_worker_loses_and_doubles_nothing(stage: Stage) -> None:
    stage.play(Rule((Hang(),), part="assistant"))
    suite = await make_suite(stage, await make_tests(stage, "win", "win 2", "win 3"))
    async with stage.worker() as first:
        evaluation_id = await begin(stage, suite, concurrency=2, repetitions=2)
        await until(lambda: first.held == 2)
        await first.kill()
    stage.play(*plays())
    async with stage.worker():
        evaluation = await ended(stage, evaluation_id)
    assert evaluation["state"] == "completed"
    found = await results(stage, evaluation_id)
    assert [one["status"] for one in found] == ["rated"] * 6, found
    assert len({one["run_id"] for one in found}) == len(await runs(stage)) == 6


async def is_empty(stage: Stage, table: str) -> bool:
    return await stage.rows(f"SELECT * FROM {table}") == []
