"""The end of a run as a case result."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from parley.server.kit.ids import new_id
from parley.server.suites.repository import RunEnded
from parley.server.suites.scores import score_of

RESULT = {
    "outcome": "success",
    "reason": "baseline_reached",
    "state": "success",
    "turn_number": 3,
    "score": 0.93,
    "conversation_delta": 0.93,
    "loss_streak": 0,
    "hooks": [],
}


def end(**more: Any) -> RunEnded:
    given: dict[str, Any] = {
        "evaluation_id": new_id(),
        "result_id": new_id(),
        "run_id": new_id(),
        "state": "succeeded",
        "outcome": "success",
        "result": RESULT,
        "error": None,
        "cost_usd": Decimal("0.004"),
        "agent_ms": 1210,
        "reasoning": "All was done.",
    }
    return RunEnded(**given | more)


def failure(code: str, turn: int = 1) -> dict[str, Any]:
    error = {"code": code, "message": "It went wrong.", "scope": "gateway_inference", "turn": turn}
    return {"state": "failed", "outcome": None, "error": error}


def test_success_is_rated_ten_times_its_delta() -> None:
    score = score_of(end())
    assert (score.status, score.rating, score.passed) == ("rated", Decimal("9.30"), True)
    assert (score.cost_usd, score.duration_ms, score.justification) == (
        Decimal("0.004"),
        1210,
        "All was done.",
    )
    assert score.judgement == {name: RESULT[name] for name in RESULT if name not in ("score", "hooks")}


@pytest.mark.parametrize("outcome", ["loss", "incomplete"])
@pytest.mark.parametrize("delta", [0.0, 0.2, 0.5, 1.0])
def test_other_outcomes_are_rated_and_did_not_pass(outcome: str, delta: float) -> None:
    score = score_of(end(outcome=outcome, result=RESULT | {"conversation_delta": delta}))
    assert (score.status, score.rating, score.passed) == ("rated", Decimal(str(delta)) * 10, False)


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("gateway_inference", failure("gateway_inference")),
        ("hook_refused", {"state": "failed", "outcome": "interrupted"}),
    ],
)
def test_agents_failures_are_failed_with_nothing(kind: str, more: dict[str, Any]) -> None:
    score = score_of(end(**more))
    assert (score.status, score.rating, score.passed) == ("failed", Decimal(0), False)
    assert score.error is not None
    assert score.error["type"] == kind


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("cancelled", {"state": "cancelled", "outcome": None}),
        ("judge_analysis", failure("judge_analysis")),
        ("user_inference", failure("user_inference")),
        ("gateway_gone", failure("gateway_inference", turn=0)),
        ("balance_exhausted", failure("balance_exhausted")),
        ("time_limit", failure("time_limit")),
        ("worker_lost", failure("worker_lost")),
        ("internal_error", {"state": "failed", "outcome": None, "result": None}),
    ],
)
def test_what_is_not_the_agents_fault_is_skipped(kind: str, more: dict[str, Any]) -> None:
    score = score_of(end(**more))
    assert (score.status, score.rating, score.passed) == ("skipped", None, None)
    assert score.error is not None
    assert score.error["type"] == kind
    assert score.cost_usd == Decimal("0.004")
