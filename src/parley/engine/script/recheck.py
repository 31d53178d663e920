"""Records that were played elsewhere, worked out again: whoever sends one is not taken at its word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from parley.engine.checks.faults import CheckCouldNotRun
from parley.engine.script.checks import checked
from parley.engine.script.compaction import COMPACTION_VERSION
from parley.engine.script.draft import AttemptPlan
from parley.engine.script.fit import resume_check
from parley.engine.script.quotes import Said
from parley.engine.script.record import AttemptRecord, StepRecord
from parley.engine.script.requests import grade_requests
from parley.engine.script.rubric import RUBRIC_VERSION
from parley.engine.script.selection import named_filters, selected
from parley.engine.script.shapes import Named, Step
from parley.engine.script.standing import attempt_status, step_status
from parley.engine.script.status import Status
from parley.engine.script.verdict import MAX_QUOTES

MOST_SHOWN_CHARS: Final = 200
"""Of a value in a problem: a record may repeat one of megabytes in every attempt."""
MOST_LOOKED_THROUGH_CHARS: Final = 10**10
"""Of evidence, once for each quote looked up in it: some ten seconds. Real records stay far below."""
_READING: Final = 20
"""To make a step's evidence ready takes as long as this many quotes."""


def inconsistencies(record: AttemptRecord, plan: AttemptPlan) -> list[str]:
    """Everything in `record` that cannot have come of playing `plan`, in words; empty when it all fits.

    Checks, statuses, evidence (but for the app's own filters) and marks of quotes are worked out again
    from what was observed. Verdicts are the judge's, and times the app's; they are not looked at.
    """
    return [*_identity(record, plan), *_steps(record, plan), *_whole(record, plan)]


def missing_attempts(records: Sequence[AttemptRecord], plans: Sequence[AttemptPlan]) -> list[str]:
    """Attempts that were planned and are not there, or are there and were not planned, by id."""
    sent = [record.attempt_id for record in records]
    planned = [plan.attempt_id for plan in plans]
    twice = {one for one in sent if sent.count(one) > 1}
    return sorted({*planned} ^ {*sent} | twice)


def shown(value: Any) -> str:
    """A value as problems show it, cut where it is long."""
    told = repr(value)
    return told if len(told) <= MOST_SHOWN_CHARS else f"{told[:MOST_SHOWN_CHARS]}..."


def _identity(record: AttemptRecord, plan: AttemptPlan) -> Iterator[str]:
    wanted = {
        "attempt_id": plan.attempt_id,
        "suite_id": plan.suite.id,
        "suite_revision": plan.revision,
        "case_id": plan.case.id,
        "repetition": plan.repetition,
        "judge": plan.judge,
        "rubric_version": RUBRIC_VERSION,
        "compaction_version": COMPACTION_VERSION,
        "steps_planned": len(plan.case.steps),
    }
    for name, value in wanted.items():
        if getattr(record, name) != value:
            yield f"{name} is {shown(getattr(record, name))} and should be {shown(value)}"


def _steps(record: AttemptRecord, plan: AttemptPlan) -> Iterator[str]:
    if [step.index for step in record.steps] != list(range(len(record.steps))):
        yield "the steps are not in order"
        return
    if len(record.steps) > len(plan.case.steps):
        yield "there are more steps than the case has"
        return
    looking = _Looking()
    for step, written in zip(record.steps, plan.case.steps, strict=False):
        before = record.steps[: step.index]
        for problem in _step(step, written, before, plan, looking):
            yield f"step {step.index}: {problem}"


class _Looking:
    """Looks quotes up, of one attempt as much as is bearable."""

    def __init__(self) -> None:
        self._left_chars = MOST_LOOKED_THROUGH_CHARS

    def problem(self, step: StepRecord, said: Said) -> str | None:
        """What is wrong with the quotes of a step."""
        if any(len(one.quotes) > MAX_QUOTES for one in step.criteria):
            return f"a verdict has more than {MAX_QUOTES} quotes"
        quotes = [quote for one in step.criteria for quote in one.quotes]
        self._left_chars -= said.chars * (_READING + len(quotes))
        if self._left_chars < 0:
            return "its evidence is too large for the quotes to be looked up"
        if any(quote.found != said.has(quote.text) for quote in quotes):
            return "its quotes are marked otherwise than they were said"
        return None

    @property
    def is_over(self) -> bool:
        """Whether nothing more is looked up."""
        return self._left_chars < 0


def _step(
    step: StepRecord, written: Step, before: Sequence[StepRecord], plan: AttemptPlan, looking: _Looking
) -> Iterator[str]:
    if (step.input.message, step.input.resume) != (written.message, written.resume):
        yield "its input is not the case's"
    yield from _checks(step, written, before)
    yield from _evidence(step, plan)
    yield from _criteria(step, written, before, looking)
    over: Status | None = step.status if step.status in ("error", "cancelled") else None
    if step.status != step_status(step.checks, step.criteria, over):
        yield f"its status {step.status} does not follow from its parts"


def _checks(step: StepRecord, written: Step, before: Sequence[StepRecord]) -> Iterator[str]:
    if step.observation is None or step.latency_ms is None:
        yield from _resume(step, written, before)
        return
    given = step.resumed or written.resume
    after_cancel = given is not None and not isinstance(given, Named) and given.type == "cancel"
    try:
        wanted = checked(written.expect, step.observation, step.latency_ms, after_cancel=after_cancel)
    except CheckCouldNotRun:
        wanted = ()
    ended_before = step.status in ("error", "cancelled") and not step.checks
    if step.checks != wanted and not ended_before:
        yield "its checks do not follow from its observation"


def _resume(step: StepRecord, written: Step, before: Sequence[StepRecord]) -> Iterator[str]:
    """Without an observation, only a resume that did not fit has a check."""
    waiting = before[-1].observation.interrupt if before and before[-1].observation else None
    resume = written.resume
    if not step.checks:
        if step.status not in ("error", "cancelled"):
            yield "it has no observation, and nothing says why"
    elif waiting is None or resume is None or isinstance(resume, Named):
        yield "it has checks of nothing"
    elif step.checks != (resume_check(resume, waiting),) or step.checks[0].passed:
        yield "its checks do not follow from the pause"


def _evidence(step: StepRecord, plan: AttemptPlan) -> Iterator[str]:
    evidence = step.evidence
    if evidence is None:
        return
    if evidence.selection != plan.evidence or evidence.compaction_version != COMPACTION_VERSION:
        yield "its evidence was selected otherwise"
    elif step.observation is None:
        yield "it has evidence of nothing"
    elif not named_filters(plan.evidence) and evidence.observation != selected(
        step.observation, plan.evidence, {}
    ):
        yield "its evidence does not follow from its observation"


def _criteria(
    step: StepRecord, written: Step, before: Sequence[StepRecord], looking: _Looking
) -> Iterator[str]:
    wanted = [(one.id, one.text) for one in written.expect.criteria]
    passed_checks = bool(step.checks) and all(check.passed for check in step.checks)
    if not step.criteria:
        if wanted and passed_checks and step.status not in ("error", "cancelled"):
            yield "its criteria are missing"
        return
    if [(one.id, one.text) for one in step.criteria] != wanted:
        yield "its criteria are not the case's"
    elif not passed_checks or step.evidence is None:
        yield "it was judged although it could not be"
    elif not looking.is_over:  # else it was told
        problem = looking.problem(step, Said(grade_requests(step, written, before, "full")[0].shown()))
        if problem:
            yield problem


def _whole(record: AttemptRecord, plan: AttemptPlan) -> Iterator[str]:
    is_cancelled = record.status == "cancelled"
    wanted = attempt_status(record.steps, record.errors, record.verification, is_cancelled=is_cancelled)
    if record.status != wanted:
        yield f"the status is {record.status} and should be {wanted}"
    is_short = len(record.steps) < len(plan.case.steps)
    if record.status in ("passed", "inconclusive", "ungraded") and is_short:
        yield "steps are missing, and nothing says why"
