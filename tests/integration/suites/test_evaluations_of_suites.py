"""Suites carried out by workers, from the start to the last case result."""

from __future__ import annotations

from tests.integration.suites.scene import begin, ended, make_suite, make_tests, plays, results, runs
from tests.stage import Stage


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
