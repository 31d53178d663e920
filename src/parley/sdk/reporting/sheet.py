"""One shape for all reports: lines of cases, checks, a verdict. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from parley.sdk.answers import RunDetail
from parley.sdk.verdicts import CaseResult, Evaluation, GateAnswer

Mark: TypeAlias = Literal["passed", "failed", "error"]
"""`failed`: the agent behaved otherwise than it should. `error`: it could not be carried out or judged."""
Verdict: TypeAlias = Literal["passed", "failed", "inconclusive"]
_VERDICTS: dict[str, Verdict] = {"passed": "passed", "failed": "failed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One case, one repetition. `rating` is 0..10."""

    name: str
    mark: Mark
    text: str = ""
    rating: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of a gate; `passed` is None where it could not be decided."""

    name: str
    passed: bool | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A whole report. `note` is what a reader should know about its weight."""

    title: str
    verdict: Verdict
    lines: Sequence[Line]
    checks: Sequence[Check] = ()
    note: str = ""


def of_run(run: RunDetail) -> Sheet:
    """One run of one test."""
    line = Line(
        name=run.test_name,
        mark=_mark_of_run(run),
        text=run.error.message if run.error else str((run.result or {}).get("reason", "")),
        rating=None if run.score is None else 10 * run.score,
        seconds=run.duration_s,
    )
    ended: Verdict = "passed" if line.mark == "passed" else "failed"
    verdict = "inconclusive" if run.state == "cancelled" else ended
    return Sheet(title=run.test_name, verdict=verdict, lines=[line])


def of_evaluation(
    evaluation: Evaluation, results: Sequence[CaseResult], gate: GateAnswer | None = None
) -> Sheet:
    """An evaluation, with what the gate says about it. Without a gate, everything has to pass."""
    repeated = {result.case_id for result in results if result.repetition > 1}
    is_repeated = evaluation.repetitions > 1
    lines = [_line(result, is_repeated or result.case_id in repeated) for result in results]
    title = evaluation.name or evaluation.id
    if gate is None:
        return Sheet(title=title, verdict=plain_verdict(evaluation, lines), lines=lines)
    checks = [Check(name=one.check, passed=one.passed, text=one.detail) for one in gate.checks]
    verdict = _VERDICTS.get(gate.verdict, "inconclusive")
    return Sheet(title=title, verdict=verdict, lines=lines, checks=checks, note=gate.note or "")


def plain_verdict(evaluation: Evaluation, lines: Sequence[Line]) -> Verdict:
    """Failed if the agent did, in any case; else undecided if anything is missing."""
    if any(line.mark == "failed" for line in lines):
        return "failed"
    is_whole = evaluation.state == "completed" and bool(lines)
    return "passed" if is_whole and all(line.mark == "passed" for line in lines) else "inconclusive"


def _mark_of_run(run: RunDetail) -> Mark:
    if run.state != "succeeded":
        return "error"
    return "passed" if run.outcome == "success" else "failed"


def _line(result: CaseResult, is_repeated: bool) -> Line:
    name = result.name or result.case_id
    return Line(
        name=f"{name} #{result.repetition}" if is_repeated else name,
        mark=_mark(result),
        text=_text(result.error) or result.justification or "",
        rating=result.rating,
        seconds=None if result.duration_ms is None else result.duration_ms / 1000,
    )


def _mark(result: CaseResult) -> Mark:
    if result.status != "rated" or result.passed is None:
        return "error"
    return "passed" if result.passed else "failed"


def _text(error: dict[str, Any] | None) -> str:
    return ": ".join(str(error[name]) for name in ("type", "message") if error.get(name)) if error else ""
