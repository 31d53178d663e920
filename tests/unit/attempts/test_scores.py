"""What an attempt's record means for its case result."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from parley.engine.script.record import AttemptRecord
from parley.engine.script.shapes import Case
from parley.server.attempts.scores import judge_cost, reason_of, score_of, workflow_cost

CASE = Case.of_wire(
    {
        "id": "a",
        "steps": [
            {"message": "b", "expect": {"type": "answer", "criteria": ["One.", "Two."]}},
            {"message": "c", "expect": {"type": "answer", "criteria": ["Three."]}},
        ],
    }
)


def record(status: str, *criteria: str, **fields: Any) -> AttemptRecord:
    """An attempt of one step with criteria of these statuses."""
    told = [
        {"id": str(at), "text": f"Number {at}.", "status": one, "calls": 1} for at, one in enumerate(criteria)
    ]
    step = {
        "index": 0,
        "input": {"message": "b"},
        "status": "passed",
        "startedAt": 1,
        "latencyMs": 40,
        "checks": [{"check": "type", "passed": True, "detail": "It is an answer."}],
        "criteria": told,
    }
    whole = {
        "attemptId": "1", "sessionId": "2", "suiteId": "s", "suiteRevision": "r", "caseId": "a",
        "repetition": 1, "status": status, "startedAt": 1, "durationMs": 50, "phaseDurationsMs": {},
        "steps": [step], "stepsPlanned": 2, "rubricVersion": "rubric-1", "compactionVersion": "compact-1",
    }  # fmt: skip
    return AttemptRecord.of_wire(whole | fields)


def error(phase: str, code: str) -> dict[str, Any]:
    return {"errors": [{"phase": phase, "code": code, "message": "Why."}]}


def test_passed_is_ten_and_failed_the_share_of_all_criteria() -> None:
    passed = score_of(record("passed", "passed", "passed"), CASE, Decimal("0.5"))
    assert (passed.status, passed.rating, passed.passed, passed.cost_usd) == (
        "rated",
        Decimal(10),
        True,
        Decimal("0.5"),
    )
    assert (passed.duration_ms, passed.checks[0]["id"]) == (40, "steps[0].expect.type")
    failed = score_of(record("failed", "passed", "failed"), CASE)
    assert (failed.status, failed.rating, failed.passed) == ("rated", Decimal("3.3333"), False)
    assert failed.justification == "Step 1: Number 1."
    refuted = {"verification": {"passed": False, "reason": "Nothing is booked."}}
    whole = score_of(record("failed", "passed", "passed", "passed", **refuted), CASE)
    assert whole.rating == Decimal("9.9")
    assert whole.justification == "Verification: Nothing is booked."
    assert score_of(record("failed"), CASE.model_copy(update={"steps": ()})).rating == 0


@pytest.mark.parametrize(
    ("phase", "code", "status"),
    [
        ("execute", "agent_error", "failed"),
        ("execute", "app_error", "failed"),
        ("execute", "worker_lost", "skipped"),
        ("execute", "balance_exhausted", "skipped"),
        ("execute", "tool_webhook_failed", "skipped"),
        ("grading", "judge_unreadable", "skipped"),
        ("responder", "no_option_matches", "skipped"),
        ("setup", "target_gone", "skipped"),
    ],
)
def test_only_the_agents_own_errors_count_against_it(phase: str, code: str, status: str) -> None:
    score = score_of(record("error", **error(phase, code)), CASE)
    assert (score.status, (score.error or {})["type"]) == (status, code)


@pytest.mark.parametrize("status", ["cancelled", "inconclusive", "ungraded"])
def test_what_nobody_decided_is_skipped_with_its_status(status: str) -> None:
    score = score_of(record(status, "passed", status if status != "cancelled" else "ungraded"), CASE)
    assert (score.status, score.rating, (score.error or {})["type"]) == ("skipped", None, status)


def test_reason_is_the_first_thing_that_went_wrong() -> None:
    assert reason_of(record("passed", "passed")) is None
    assert reason_of(record("error", "failed", **error("execute", "agent_error"))) == "execute: Why."


def test_unknown_costs_stay_unknown() -> None:
    assert (workflow_cost(record("passed")), judge_cost(record("passed"))) == (None, Decimal(0))
    judged = record("passed", "passed", usage={"costUsd": "0.25"}, judgeUsage={"promptTokens": 3})
    assert (workflow_cost(judged), judge_cost(judged)) == (Decimal("0.25"), None)
