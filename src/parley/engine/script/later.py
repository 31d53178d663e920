"""Grading what stayed ungraded, from the evidence that was stored; nothing is played again."""

from __future__ import annotations

import asyncio

from parley.engine.script.faults import PhaseFailed
from parley.engine.script.grading import Grading, Outcome, grade_all
from parley.engine.script.record import AttemptRecord, CriterionRecord, ErrorRecord, RunRecord, StepRecord
from parley.engine.script.requests import grade_requests
from parley.engine.script.rubric import ToolVisibility
from parley.engine.script.shapes import Case
from parley.engine.script.standing import attempt_status, step_status
from parley.engine.script.status import counts_of, highest
from parley.engine.script.told_errors import error_record
from parley.engine.script.usage import total


async def grade_later(
    attempt: AttemptRecord, case: Case, grading: Grading, tool_visibility: ToolVisibility = "full"
) -> AttemptRecord:
    """`attempt` with verdicts where it had none. What was graded stays; what is still out of reach, too."""
    steps: list[StepRecord] = []
    errors = list(attempt.errors)
    for step in attempt.steps:
        graded, faults = await _graded(step, attempt, case, grading, tool_visibility)
        steps.append(graded)
        errors += faults
    status = attempt_status(steps, errors, attempt.verification, is_cancelled=attempt.status == "cancelled")
    judged = [one.usage for step in steps for one in step.criteria if one.calls]
    changed = {"steps": tuple(steps), "errors": tuple(errors), "status": status, "judge_usage": total(judged)}
    return attempt.model_copy(update={**changed, "judge": grading.judge.identity})


async def grade_run_later(
    run: RunRecord, grading: Grading, tool_visibility: ToolVisibility = "full", *, at_once: int
) -> RunRecord:
    """`run` with verdicts where it had none, `at_once` attempts together; `grading` asks its own judge."""
    cases = {case.id: case for case in run.suite.cases}
    slots = asyncio.Semaphore(at_once)

    async def one(attempt: AttemptRecord) -> AttemptRecord:
        if not is_owed(attempt):
            return attempt
        async with slots:
            return await grade_later(attempt, cases[attempt.case_id], grading, tool_visibility)

    attempts = await asyncio.gather(*map(one, run.attempts))
    statuses = [attempt.status for attempt in attempts]
    changed = {"attempts": tuple(attempts), "status": highest(statuses), "counts": counts_of(statuses)}
    return run.model_copy(update=changed)


def is_owed(attempt: AttemptRecord) -> bool:
    """Whether any criterion waits for its verdict."""
    return any(criterion.status == "ungraded" for step in attempt.steps for criterion in step.criteria)


async def _graded(
    step: StepRecord, attempt: AttemptRecord, case: Case, grading: Grading, tool_visibility: ToolVisibility
) -> tuple[StepRecord, list[ErrorRecord]]:
    open_ids = {one.id for one in step.criteria if one.status == "ungraded"}
    if not open_ids or step.evidence is None:
        return step, []
    before = attempt.steps[: step.index]
    requests = grade_requests(step, case.steps[step.index], before, tool_visibility)
    try:
        outcomes = await grade_all(
            grading, [one for one in requests if one.criterion.id in open_ids], step.index
        )
    except PhaseFailed as error:
        return step, [error_record(error.phase, error, step_index=step.index)]
    criteria = tuple(_replaced(one, outcomes) for one in step.criteria)
    over = step.status if step.status in ("error", "cancelled") else None
    graded = step.model_copy(
        update={"criteria": criteria, "status": step_status(step.checks, criteria, over)}
    )
    return graded, [one.error for one in outcomes if one.error]


def _replaced(criterion: CriterionRecord, outcomes: tuple[Outcome, ...]) -> CriterionRecord:
    return next((one.record for one in outcomes if one.record.id == criterion.id), criterion)
