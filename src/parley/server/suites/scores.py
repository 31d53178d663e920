"""The end of a simulated case's run as a case result. Pure."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from parley.server.evaluations.new import Score, failed, skipped
from parley.server.suites.repository import RunEnded

_TEN: Final = Decimal(10)
_TOLD_OF_RESULT = ("outcome", "reason", "state", "turn_number", "conversation_delta", "loss_streak")
AGENT_FAILED: Final = "gateway_inference"
"""The one code of a failed run that is the agent's failure; all others are ours, the judge's or the
account's."""

NEVER_ASKED: Final = 0
"""The turn of a failure before the first one: the gateway was deleted, so no agent has failed."""


def score_of(end: RunEnded) -> Score:
    """How the case came out: ten times the final conversation_delta, passed if the outcome is success.

    The agent's failures (its inference, a hook that refused) are `failed`; a cancelled run, one that fell
    to our side, the judge or the balance is `skipped`.
    """
    facts: dict[str, Any] = {
        "cost_usd": end.cost_usd,
        "duration_ms": end.agent_ms,
        "justification": end.reasoning,
        "judgement": _told(end.result),
    }
    if end.state == "cancelled":
        return skipped("cancelled", "The run was cancelled.", **facts)
    if end.outcome == "interrupted":
        return failed("hook_refused", "A hook refused to let the conversation go on.", **facts)
    if end.state != "succeeded" or end.result is None:
        return _of_failure(end.error or {}, facts)
    return Score(
        status="rated",
        rating=_TEN * Decimal(str(end.result["conversation_delta"])),
        passed=end.outcome == "success",
        **facts,
    )


def _of_failure(error: dict[str, Any], facts: dict[str, Any]) -> Score:
    code, message = error.get("code", "internal_error"), error.get("message", "The run failed.")
    if code == AGENT_FAILED and error.get("turn") == NEVER_ASKED:
        return skipped("gateway_gone", message, **facts)
    return (failed if code == AGENT_FAILED else skipped)(code, message, **facts)


def _told(result: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if result is None else {name: result.get(name) for name in _TOLD_OF_RESULT}
