"""One call per criterion, in parallel; nonsense is asked again once and is then an error, never a fail."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from parley.engine.ports import Clock
from parley.engine.script.faults import JudgeFault, JudgeUnreachable, PhaseFailed
from parley.engine.script.ports import Graded, Judge
from parley.engine.script.quotes import Said
from parley.engine.script.record import CriterionRecord, ErrorRecord, Quote
from parley.engine.script.rubric import GradeRequest
from parley.engine.script.told_errors import error_record
from parley.engine.script.usage import total
from parley.engine.script.verdict import Verdict, VerdictUnreadable, read_verdict
from parley.engine.script.work import CancelledItself, Overdue, Stopped, Stopping, bounded

MAX_CALLS: Final = 2
"""Calls for one criterion (product contract): the second only after an answer that could not be read."""
MAX_EVIDENCE_CHARS: Final = 400_000
"""Of one request unless the judge says otherwise: about 100,000 tokens, what current llms read with care."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grading:
    """How a judge is asked: `limit_s` for each call, `grace_s` to end one, `stopping` ends all."""

    judge: Judge
    clock: Clock
    limit_s: float
    grace_s: float
    stopping: Stopping


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One criterion's record, and the error if there was one. A `stopped` one has no verdict."""

    record: CriterionRecord
    error: ErrorRecord | None = None
    stopped: bool = False


async def grade_all(
    grading: Grading, requests: Sequence[GradeRequest], step_index: int
) -> tuple[Outcome, ...]:
    """Every criterion of one step. Raises `PhaseFailed` for evidence that is too large, before any call."""
    if requests:
        _refuse_too_large(requests[0], grading.judge.max_evidence_chars)
    told = Said(requests[0].shown()) if requests else Said(())
    graders = (_Grader(grading, request, told, step_index) for request in requests)
    return tuple(await asyncio.gather(*(grader.outcome() for grader in graders)))


def _refuse_too_large(request: GradeRequest, limit: int) -> None:
    if request.evidence_chars > limit:
        raise PhaseFailed(
            "grading",
            "evidence_too_large",
            f"The evidence has {request.evidence_chars:,} characters; this judge reads {limit:,}. "
            "Select events or outputs, or turn history off.",
        )


class _Grader:
    def __init__(self, grading: Grading, request: GradeRequest, said: Said, step_index: int) -> None:
        self._grading = grading
        self._request = request
        self._said = said
        self._step_index = step_index
        self._calls: list[Graded] = []
        self._began_s = grading.clock.monotonic_s()
        self._made = 0

    async def outcome(self) -> Outcome:
        try:
            return self._judged(await self._verdict())
        except Stopped:
            return Outcome(record=self._record("ungraded", "The run was stopped."), stopped=True)
        except JudgeUnreachable as error:
            return Outcome(record=self._record("ungraded", error.message))
        except Exception as error:
            told = self._error(error)
            return Outcome(record=self._record("error", told.message), error=told)

    async def _verdict(self) -> Verdict:
        problem: str | None = None
        for _ in range(MAX_CALLS):
            graded = await self._ask(problem)
            self._calls.append(graded)
            try:
                return read_verdict(graded.answer)
            except VerdictUnreadable as unreadable:
                problem = unreadable.problem
        raise JudgeFault("judge_unreadable", f"The judge gave no verdict, asked {MAX_CALLS} times. {problem}")

    async def _ask(self, problem: str | None) -> Graded:
        grading = self._grading
        self._made += 1
        try:
            return await bounded(
                lambda: grading.judge.grade(self._request, problem),
                grading.limit_s,
                grace_s=grading.grace_s,
                stopping=grading.stopping,
            )
        except Overdue:
            told = f"The judge took longer than {grading.limit_s:g} seconds."
            raise JudgeFault("judge_overdue", told) from None
        except CancelledItself:
            raise JudgeFault("judge_cancelled", "The judge's call was cancelled from within.") from None

    def _judged(self, verdict: Verdict) -> Outcome:
        quotes = tuple(Quote(text=quote, found=self._said.has(quote)) for quote in verdict.quotes)
        status: Literal["passed", "failed", "inconclusive"] = "inconclusive"
        if verdict.passed is not None:
            status = "passed" if verdict.passed else "failed"
        return Outcome(record=self._record(status, verdict.reason, quotes))

    def _record(
        self,
        status: Literal["passed", "failed", "inconclusive", "ungraded", "error"],
        reason: str,
        quotes: tuple[Quote, ...] = (),
    ) -> CriterionRecord:
        took_s = self._grading.clock.monotonic_s() - self._began_s
        return CriterionRecord(
            id=self._request.criterion.id,
            text=self._request.criterion.text,
            status=status,
            reason=reason,
            quotes=quotes,
            calls=self._made,
            duration_ms=round(took_s * 1000),
            usage=total([call.usage for call in self._calls]) if len(self._calls) == self._made else None,
        )

    def _error(self, error: Exception) -> ErrorRecord:
        return error_record(
            "grading", error, step_index=self._step_index, criterion_id=self._request.criterion.id
        )
