"""What was played elsewhere is worked out again; what was ungraded is graded from stored evidence."""

from __future__ import annotations

from typing import Any

import pytest

from parley.engine.script.fakes import FAILS, PASSES, ScriptedApp, ScriptedJudge, answers, tool_events
from parley.engine.script.faults import JudgeUnreachable
from parley.engine.script.grading import Grading
from parley.engine.script.later import grade_later
from parley.engine.script.reading import read_suite
from parley.engine.script.recheck import inconsistencies, missing_attempts
from parley.engine.script.record import AttemptRecord
from parley.engine.script.work import Stopping
from tests.unit.engine.script.stage import EVERY_PHASE, LoopClock, app_of, plan_of, played, suite_of

QUOTING = {"passed": True, "reason": "x", "evidence": ["refunded", "never said"]}
PLAN = plan_of(read_suite(EVERY_PHASE))
STEP = {"message": "When?", "expect": {"type": "answer", "criteria": ["Says when.", "Is polite."]}}


async def record() -> AttemptRecord:
    return await played(app_of(), judge=ScriptedJudge(QUOTING))


def changed(attempt: AttemptRecord, path: list[str | int], value: Any) -> AttemptRecord:
    """The record with one thing forged on the wire."""
    data = attempt.wire()
    at: Any = data
    for step in path[:-1]:
        at = at[step]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return AttemptRecord.of_wire(data)


async def test_what_was_really_played_is_found_right() -> None:
    assert inconsistencies(await record(), PLAN) == []


@pytest.mark.parametrize(
    "app",
    [
        lambda: app_of(executions=[answers("no pause")]),
        lambda: app_of(responses={}),
        lambda: app_of(verification=None),
        lambda: app_of(references={}),
    ],
)
async def test_attempts_that_went_wrong_are_found_right_too(app: Any) -> None:
    for judge in (PASSES, FAILS, "nonsense", JudgeUnreachable("away", "No connection.")):
        assert inconsistencies(await played(app(), judge=ScriptedJudge(judge)), PLAN) == []


async def test_resume_that_did_not_fit_is_found_right() -> None:
    from parley.engine.script.fakes import choice, pauses

    suite = suite_of(
        {"message": "x", "expect": {"type": "interrupt"}},
        {"resume": {"type": "select", "ids": ["c"]}, "expect": {"type": "answer"}},
    )
    attempt = await played(ScriptedApp([pauses(choice("a"))]), suite)
    assert inconsistencies(attempt, plan_of(suite)) == []
    forged = changed(attempt, ["steps", 1, "checks", 0, "passed"], True)
    assert "step 1: its checks do not follow from the pause" in inconsistencies(forged, plan_of(suite))


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (["suiteRevision"], "0" * 64, "suite_revision"),
        (["caseId"], "other", "case_id"),
        (["repetition"], 2, "repetition"),
        (["judge"], {"id": "other", "versionHash": "1", "location": "app"}, "judge"),
        (["rubricVersion"], "rubric-0", "rubric_version"),
        (["stepsPlanned"], 2, "steps_planned"),
        (["status"], "failed", "the status is failed and should be passed"),
        (["steps", 2], ..., "steps are missing"),
        (["steps", 1, "index"], 5, "the steps are not in order"),
        (["steps", 0, "input", "message"], "Something else.", "step 0: its input is not the case's"),
        (["steps", 1, "observation", "text"], "No.", "step 1: its checks do not follow"),
        (["steps", 1, "checks", 0, "passed"], False, "step 1: its checks do not follow"),
        (["steps", 1, "checks"], [], "step 1: its checks do not follow"),
        (["steps", 1, "criteria"], [], "step 1: its criteria are missing"),
        (["steps", 1, "criteria", 0, "text"], "Anything.", "step 1: its criteria are not the case's"),
        (["steps", 1, "criteria", 0, "status"], "failed", "step 1: its status passed does not follow"),
        (["steps", 1, "criteria", 0, "quotes", 1, "found"], True, "step 1: its quotes are marked otherwise"),
        (["steps", 1, "evidence", "observation", "text"], "Refunded twice.", "step 1: its evidence does not"),
        (
            ["steps", 1, "evidence", "selection", "history"],
            False,
            "step 1: its evidence was selected otherwise",
        ),
        (["steps", 1, "evidence"], ..., "step 1: it was judged although it could not be"),
        (["steps", 1, "observation"], ..., "step 1: it has checks of nothing"),
        (["verification", "passed"], False, "the status is passed and should be failed"),
    ],
)
async def test_forgery_is_found(path: list[str | int], value: Any, says: str) -> None:
    forged = changed(await record(), path, value)
    assert any(problem.startswith(says) for problem in inconsistencies(forged, PLAN))


async def test_set_of_attempts_has_to_be_the_planned_one() -> None:
    attempt = await record()
    assert missing_attempts([attempt], [PLAN]) == []
    assert missing_attempts([], [PLAN]) == ["attempt-1"]
    assert missing_attempts([attempt, attempt], [PLAN]) == ["attempt-1"]
    assert missing_attempts([attempt.model_copy(update={"attempt_id": "x"})], [PLAN]) == ["attempt-1", "x"]


def grading(judge: ScriptedJudge) -> Grading:
    return Grading(judge=judge, clock=LoopClock(), limit_s=1, grace_s=1, stopping=Stopping())


async def test_ungraded_criteria_are_graded_later_and_nothing_else_is_touched() -> None:
    suite = suite_of(STEP, STEP)

    def decide(request: Any, _problem: Any) -> Any:
        is_away = request.criterion.text == "Is polite."
        return JudgeUnreachable("away", "No connection.") if is_away else PASSES

    app = ScriptedApp([answers("x", events=tool_events("find", {}, 1)), answers("y")])
    ungraded = await played(app, suite, judge=ScriptedJudge(decide))
    assert ungraded.status == "ungraded"
    judge = ScriptedJudge(FAILS)
    graded = await grade_later(ungraded, suite.cases[0], grading(judge))
    assert graded.status == "failed"
    assert [one.status for step in graded.steps for one in step.criteria] == ["passed", "failed"] * 2
    assert [request.criterion.text for request, _ in judge.asked] == ["Is polite."] * 2
    assert judge.asked[1][0].earlier[0].observation == ungraded.steps[0].evidence.observation  # type: ignore[union-attr]
    assert graded.judge == judge.identity


async def test_what_stays_out_of_reach_stays_ungraded_and_nonsense_is_an_error() -> None:
    suite = suite_of(STEP)
    away = ScriptedJudge(JudgeUnreachable("away", "No connection."))
    ungraded = await played(ScriptedApp([answers("x")]), suite, judge=away)
    assert (await grade_later(ungraded, suite.cases[0], grading(away))).status == "ungraded"
    wrong = await grade_later(ungraded, suite.cases[0], grading(ScriptedJudge("hm")))
    assert wrong.status == "error"
    assert {error.code for error in wrong.errors} == {"judge_unreadable"}
    small = await grade_later(ungraded, suite.cases[0], grading(ScriptedJudge(max_evidence_chars=1)))
    assert [error.code for error in small.errors] == ["evidence_too_large"]
