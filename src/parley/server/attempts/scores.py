"""What an attempt's record means for its case result. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from parley.engine.script.observation import Usage
from parley.engine.script.record import AttemptRecord, ErrorRecord
from parley.engine.script.shapes import Case
from parley.server.evaluations.new import Score, failed, skipped

_PASSED: Final = Decimal(10)
_MOST_NOT_PASSED: Final = Decimal("9.9")
"""Rating of an attempt that did not pass although every criterion was met (product contract)."""
_PLACES: Final = Decimal("0.0001")
NOT_THE_AGENTS: Final = frozenset(
    {
        "worker_lost",
        "worker_stopped",
        "balance_exhausted",
        "account_suspended",
        "target_gone",
        "tool_webhook_failed",
        "app_lost",
        "app_refused",
        "app_unreadable",
        "app_stopped",
        "lease_lost",
        "overdue_in_service",
    }
)
"""Codes of errors in the phase `execute` that say nothing about the agent."""


def score_of(record: AttemptRecord, case: Case, cost_usd: Decimal = Decimal(0)) -> Score:
    """The score: 10 if it passed; 10 times the share of the case's criteria that were met, at most 9.9, if it
    failed. `cost_usd` is what the account paid us for it.

    The agent's own error is `failed`; errors of ours, the judge or the app around the agent, and what is
    inconclusive, ungraded or cancelled are `skipped`.
    """
    facts: dict[str, Any] = {
        "checks": list(_checks(record)),
        "judgement": {"attempt_id": record.attempt_id, "status": record.status},
        "duration_ms": sum(step.latency_ms or 0 for step in record.steps),
        "cost_usd": cost_usd,
    }
    reason = reason_of(record)
    match record.status:
        case "passed":
            return Score(status="rated", rating=_PASSED, passed=True, **facts)
        case "failed":
            rating = _share_met(record, case)
            return Score(status="rated", rating=rating, passed=False, justification=reason, **facts)
        case "error":
            return _of_error(record, facts)
    return skipped(record.status, reason or "Nothing says why.", **facts)


def reason_of(record: AttemptRecord) -> str | None:
    """Why the attempt did not pass, in one line."""
    return next(_reasons(record), None)


def workflow_cost(record: AttemptRecord) -> Decimal | None:
    """US dollars that the agent cost; None where nobody told."""
    return _cost(record.usage)


def judge_cost(record: AttemptRecord) -> Decimal | None:
    """US dollars that judging cost; nothing where no judge was asked, None where nobody told."""
    was_judged = any(criterion.calls for step in record.steps for criterion in step.criteria)
    return _cost(record.judge_usage) if was_judged else Decimal(0)


def _cost(usage: Usage | None) -> Decimal | None:
    return None if usage is None or usage.cost_usd is None else Decimal(usage.cost_usd)


def _share_met(record: AttemptRecord, case: Case) -> Decimal:
    """Of all criteria; what a failed check kept from being judged is not met."""
    asked = sum(len(step.expect.criteria) for step in case.steps)
    if not asked:
        return Decimal(0)
    met = sum(one.status == "passed" for step in record.steps for one in step.criteria)
    return min(_MOST_NOT_PASSED, (_PASSED * met / asked).quantize(_PLACES))


def _of_error(record: AttemptRecord, facts: dict[str, Any]) -> Score:
    error = next((one for one in record.errors if one.phase != "reporting"), None)
    if error is None:
        return skipped("error", "Nothing says why.", **facts)
    is_agents = error.phase == "execute" and error.code not in NOT_THE_AGENTS
    return (failed if is_agents else skipped)(error.code, error.message, **facts)


def _checks(record: AttemptRecord) -> Iterator[dict[str, Any]]:
    for step in record.steps:
        for check in step.checks:
            yield {
                "id": f"steps[{step.index}].expect.{check.check}",
                "type": check.check,
                "passed": check.passed,
                "must_pass": True,
                "detail": check.detail,
            }


def _reasons(record: AttemptRecord) -> Iterator[str]:
    yield from (_told(error) for error in record.errors if error.phase != "reporting")
    if record.status == "cancelled":
        yield "It was cancelled."
    for step in record.steps:
        where = f"Step {step.index + 1}: "
        yield from (where + check.detail for check in step.checks if not check.passed)
        for wanted in ("failed", "inconclusive", "ungraded"):
            found = (criterion for criterion in step.criteria if criterion.status == wanted)
            yield from (f"{where}{criterion.text} {criterion.reason}".rstrip() for criterion in found)
    if record.verification is not None and not record.verification.passed:
        yield f"Verification: {record.verification.reason}"


def _told(error: ErrorRecord) -> str:
    where = "" if error.step_index is None else f"Step {error.step_index + 1}, "
    return f"{where}{error.phase}: {error.message}"
