"""`assert_evaluation`: a gate in a test."""

from __future__ import annotations

from itertools import islice
from typing import Unpack

from parley.sdk.calls.evaluations import GateChecks
from parley.sdk.evaluating.report import Report
from parley.sdk.harmless import one_line
from parley.sdk.verdicts import GateAnswer

_SHOWN = 10
"""Cases that an assertion names, the worst first."""


def assert_evaluation(
    report: Report, *, min_rating: float | None = None, **checks: Unpack[GateChecks]
) -> GateAnswer:
    """Raises `AssertionError` unless the gate passes; `min_rating` is its `fail_under`, 0..10.

    An inconclusive gate does not pass. At least one check.
    """
    if min_rating is not None:
        checks["fail_under"] = min_rating
    answer = report.gate(**checks)
    if not answer.passed:
        raise AssertionError(_told(report, answer))
    return answer


def _told(report: Report, answer: GateAnswer) -> str:
    lines = [f"the gate's verdict on evaluation {report.id} is {answer.verdict}"]
    lines += [f"  {one.check}: {one_line(one.detail)}" for one in answer.checks if one.passed is not True]
    for result in islice(report.failing(), _SHOWN):
        rating = result.status if result.rating is None else f"{result.rating:.1f}"
        name = one_line(result.name or result.case_id)
        lines.append(f"  {name} #{result.repetition}: {rating} {_why(result.justification)}")
    return "\n".join(lines)


def _why(reason: str | None) -> str:
    return " ".join(one_line(reason or "").split())[:200]
