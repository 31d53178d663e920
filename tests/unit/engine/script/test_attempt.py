"""What an attempt does with answers, pauses, misses, verdicts and evidence."""

from __future__ import annotations

from typing import Any

import pytest

from parley.engine.script.attempt import Moment
from parley.engine.script.check import CheckRecord
from parley.engine.script.fakes import (
    FAILS,
    PASSES,
    UNSURE,
    ScriptedApp,
    ScriptedJudge,
    answers,
    choice,
    pauses,
    tool_events,
)
from parley.engine.script.faults import JudgeUnreachable, SafeFailure
from parley.engine.script.observation import AgentEvent, Observation
from parley.engine.script.ports import Answer, Execution, Say
from parley.engine.script.record import AttemptRecord, Verification
from parley.engine.script.shapes import ResumeSelect
from tests.unit.engine.script.stage import SHORT, app_of, played, suite_of

ASKS = {"message": "Where?", "expect": {"type": "answer", "criteria": ["Says where."]}}
PAUSES = {"message": "Refund.", "expect": {"type": "interrupt"}}


def errors_of(record: AttemptRecord) -> list[tuple[str, str]]:
    return [(error.phase, error.code) for error in record.errors]


async def test_miss_fails_the_step_without_the_judge_and_stops_the_case() -> None:
    step = {**ASKS, "expect": {**ASKS["expect"], "text": {"contains": ["here"]}}}  # type: ignore[dict-item]
    app, judge = ScriptedApp([answers("gone")]), ScriptedJudge()
    record = await played(app, suite_of(step, ASKS, onSemanticFailure="continue"), judge=judge)
    assert (record.status, len(record.steps), judge.asked) == ("failed", 1, [])
    assert [check.check for check in record.steps[0].checks if not check.passed] == ["text.contains[0]"]
    assert app.calls[-2:] == ["verify", "teardown"], (
        "a conversation that failed is finished, so it is verified"
    )


@pytest.mark.parametrize(("policy", "steps"), [("stop", 1), ("continue", 2)])
async def test_failed_criterion_stops_or_continues(policy: str, steps: int) -> None:
    app = ScriptedApp([answers("x"), answers("y")])
    record = await played(app, suite_of(ASKS, ASKS, onSemanticFailure=policy), judge=ScriptedJudge(FAILS))
    assert (record.status, len(record.steps)) == ("failed", steps)


async def test_inconclusive_and_ungraded_end_nothing() -> None:
    app = ScriptedApp([answers("x"), answers("y")])
    suite = suite_of(ASKS, ASKS)
    assert (await played(app, suite, judge=ScriptedJudge(UNSURE))).status == "inconclusive"
    away = ScriptedJudge(JudgeUnreachable("judge_unreachable", "No connection."))
    record = await played(ScriptedApp([answers("x"), answers("y")]), suite, judge=away)
    assert (record.status, len(record.steps)) == ("ungraded", 2)
    assert all(step.evidence for step in record.steps), "what is graded later needs its evidence"


async def test_verification_that_fails_fails_the_attempt() -> None:
    app = app_of(verification=Verification(passed=False, reason="No refund was booked."))
    record = await played(app)
    assert (record.status, record.verification) == ("failed", app.verification)


async def test_two_interrupts_are_an_error_and_both_are_called_off() -> None:
    app = ScriptedApp([pauses(choice("a"), choice("b", request_id="request-2"))])
    record = await played(app, suite_of(PAUSES))
    assert errors_of(record) == [("execute", "two_interrupts")]
    assert app.calls[-3:] == ["cancel request-1", "cancel request-2", "teardown"] or app.calls[-3:] == [
        "cancel request-2", "cancel request-1", "teardown",
    ]  # fmt: skip


async def test_interrupt_without_continuation_is_an_error() -> None:
    record = await played(ScriptedApp([pauses(choice("a"), continuation=None)]), suite_of(PAUSES))
    assert errors_of(record) == [("execute", "interrupt_without_continuation")]


async def test_case_may_end_on_an_interrupt_which_is_verified_and_then_called_off() -> None:
    app = ScriptedApp([pauses(choice("a"))])
    record = await played(app, suite_of(PAUSES))
    assert record.status == "passed"
    assert app.calls[-3:] == ["verify", "cancel request-1", "teardown"]


async def test_pause_where_an_answer_was_expected_is_a_miss_and_is_called_off() -> None:
    app = ScriptedApp([pauses(choice("a"))])
    record = await played(app, suite_of(ASKS))
    assert record.status == "failed"
    assert "cancel request-1" in app.calls


@pytest.mark.parametrize(("kind", "status"), [("error", "error"), ("cancelled", "cancelled")])
async def test_step_that_ends_otherwise_ends_the_case_without_verification(kind: Any, status: str) -> None:
    app = ScriptedApp([Execution(observation=Observation(type=kind, text="half an ans"))])
    record = await played(app, suite_of(ASKS))
    assert record.status == status
    assert record.steps[0].observation is not None
    assert record.steps[0].observation.text == "half an ans"
    assert app.calls == ["params", "setup", "execute-1", "teardown"]


async def test_resume_that_the_pause_does_not_offer_fails_the_step_and_is_never_sent() -> None:
    app = ScriptedApp([pauses(choice("approve"))])
    resume = {"resume": {"type": "select", "ids": ["refuse"]}, "expect": {"type": "answer"}}
    record = await played(app, suite_of(PAUSES, resume))
    assert (record.status, len(app.commands)) == ("failed", 1)
    assert record.steps[1].checks[0].detail == "The pause offers approve, not refuse."
    assert "cancel request-1" in app.calls


async def test_cancelled_pause_may_be_answered_by_a_cancelled_turn() -> None:
    app = ScriptedApp([pauses(choice("a")), Execution(observation=Observation(type="cancelled"))])
    resume = {"resume": {"type": "cancel"}, "expect": {"type": "answer"}}
    assert (await played(app, suite_of(PAUSES, resume))).status == "passed"


async def test_responder_sees_only_pauses_of_its_schema_and_must_fit() -> None:
    app = app_of(responder_schemas={"approve": ("approval", None)})
    record = await played(app)
    assert errors_of(record) == [("responder", "interrupt_schema")]
    assert "respond" not in app.calls
    misfit = app_of(responses={"approve": ResumeSelect(type="select", ids=("later",))})
    record = await played(misfit)
    assert errors_of(record) == [("responder", "resume_does_not_fit")]
    assert record.steps[1].status == "error"


async def test_agent_gets_words_and_answers_and_the_judge_what_a_responder_said() -> None:
    app, judge = app_of(), ScriptedJudge()
    await played(app, judge=judge)
    say, answer, _thanks = app.commands
    assert say == Say(text="Refund 17.")
    assert isinstance(answer, Answer)
    assert answer.resume == ResumeSelect(type="select", ids=("approve",))
    second = judge.asked[1][0]
    assert second.input.resume == answer.resume
    assert second.reference == {"days": 14}
    assert [step.input.message for step in second.earlier] == ["Refund 17."]


@pytest.mark.parametrize(("history", "earlier"), [(True, 1), (False, 0)])
async def test_history_is_shown_through_stored_evidence_or_not_at_all(history: bool, earlier: int) -> None:
    suite = suite_of(ASKS, ASKS, evidence={"history": history, "events": ["tool-call-result"]})
    app = ScriptedApp([answers("x", events=tool_events("find", {"id": 1}, "r")), answers("y")])
    judge = ScriptedJudge()
    record = await played(app, suite, judge=judge)
    shown = judge.asked[1][0].earlier
    assert len(shown) == earlier
    stored = record.steps[0].evidence
    assert stored is not None
    assert (stored.history, stored.compaction_version) == (history, "compact-1")
    assert [event.type for event in stored.observation.events] == ["tool-call-result"]
    if shown:
        assert shown[0].observation == stored.observation
    assert record.steps[0].observation is not None
    assert len(record.steps[0].observation.events) == 2, "the whole stays in the record"


async def test_reference_is_a_snapshot_and_a_given_null_counts() -> None:
    policy = {"days": [14]}
    app = app_of(references={"policy": policy})
    record = await played(app)
    policy["days"].append(30)
    assert record.steps[1].reference == {"days": [14]}
    null = await played(app_of(references={"policy": None}))
    assert "reference" in null.steps[1].wire()
    assert "reference" not in null.steps[0].wire()
    no_json = await played(app_of(references={"policy": {1, 2}}))
    assert errors_of(no_json) == [("reference", "not_json")]


async def test_evidence_too_large_for_the_judge_is_an_error_of_grading() -> None:
    app, judge = ScriptedApp([answers("x" * 500)]), ScriptedJudge(max_evidence_chars=400)
    record = await played(app, suite_of(ASKS), judge=judge)
    assert errors_of(record) == [("grading", "evidence_too_large")]
    assert judge.asked == []


async def test_safe_failures_keep_code_message_details_and_causes() -> None:
    async def refuses() -> None:
        try:
            raise SafeFailure("ledger_closed", "The ledger is closed.", {"until": "8:00"})
        except SafeFailure as cause:
            raise SafeFailure("refund_refused", "No refund now.", {"order": 17}) from cause

    record = await played(app_of(deeds={"execute-2": refuses}))
    error = record.public().errors[0].wire()
    assert error == {
        "phase": "execute", "code": "refund_refused", "message": "No refund now.", "stepIndex": 1,
        "details": {"order": 17},
        "causes": [
            {"code": "ledger_closed", "message": "The ledger is closed.", "details": {"until": "8:00"}},
        ],
    }  # fmt: skip


async def test_time_of_the_judge_is_not_the_case_s() -> None:
    async def slow() -> Any:
        import asyncio

        await asyncio.sleep(0.15)
        return PASSES

    suite = suite_of(ASKS, ASKS, ASKS)
    app = ScriptedApp([answers("x")] * 3)
    record = await played(app, suite, judge=ScriptedJudge(lambda *_: slow()), limits=SHORT)
    assert record.status == "passed"
    assert record.phase_durations_ms["grading"] > 400, "more than the case itself may take"


async def test_usage_of_agent_and_judge_stand_apart_and_unknown_is_unknown() -> None:
    record = await played(app_of())
    assert (record.usage, record.judge_usage) == (None, None)


async def test_progress_is_told_in_order_as_snapshots() -> None:
    heard: list[tuple[Moment, str | None, int]] = []

    def tell(moment: Moment, snapshot: AttemptRecord, phase: Any, _step: Any) -> None:
        heard.append((moment, phase, len(snapshot.steps)))

    record = await played(app_of(), tell=tell)
    assert heard[0] == ("case-started", None, 0)
    assert heard[-1] == ("case-completed", None, 3)
    assert [steps for moment, _, steps in heard if moment == "step-completed"] == [1, 2, 3]
    assert ("case-progress", "grading", 0) in heard
    assert AttemptRecord.of_wire(record.wire()) == record


async def test_app_s_ids_of_runs_are_kept_once_each_in_order() -> None:
    executions = [
        Execution(observation=Observation(type="answer", text="x", run_id=run_id))
        for run_id in ("b", "a", "b")
    ]
    record = await played(
        ScriptedApp(executions), suite_of(*[{"message": "x", "expect": {"type": "answer"}}] * 3)
    )
    assert record.run_ids == ("b", "a")
    assert CheckRecord.of_wire(record.steps[0].checks[0].wire()).passed


async def test_filter_that_raises_is_an_error_of_grading_with_the_step_kept() -> None:
    suite = suite_of(ASKS, evidence={"events": {"using": "mine"}})
    app = ScriptedApp(
        [answers("x", events=[AgentEvent(type="error", error="e")])], filters={"mine": lambda *_: 1}
    )
    record = await played(app, suite)
    assert errors_of(record) == [("grading", "filter_no_boolean")]
    assert (len(record.steps), app.calls[-1]) == (1, "teardown")
