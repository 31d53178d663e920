"""What a step and an attempt come to, from their parts."""

from __future__ import annotations

from collections.abc import Sequence

from parley.engine.script.check import CheckRecord
from parley.engine.script.record import CriterionRecord, ErrorRecord, StepRecord, Verification
from parley.engine.script.status import Status, highest


def step_status(
    checks: Sequence[CheckRecord], criteria: Sequence[CriterionRecord], over: Status | None = None
) -> Status:
    """Of a step; `over` is what ended it from outside, if anything did."""
    parts: list[Status] = ["passed" if check.passed else "failed" for check in checks]
    parts += [criterion.status for criterion in criteria]
    return highest([*parts, over] if over else parts)


def attempt_status(
    steps: Sequence[StepRecord],
    errors: Sequence[ErrorRecord],
    verification: Verification | None,
    *,
    is_cancelled: bool,
) -> Status:
    """Of an attempt. Reporting errors change nothing."""
    parts: list[Status] = [step.status for step in steps]
    if any(error.phase != "reporting" for error in errors):
        parts.append("error")
    if is_cancelled:
        parts.append("cancelled")
    if verification and not verification.passed:
        parts.append("failed")
    return highest(parts)
