"""Grading a kept run whose judge was out of reach, from the evidence that was stored."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from parley.engine.script.grading import Grading
from parley.engine.script.later import grade_later, is_owed
from parley.engine.script.ports import Judge, Limits
from parley.engine.script.record import AttemptRecord, RunRecord
from parley.engine.script.rubric import ToolVisibility
from parley.engine.script.status import counts_of, highest
from parley.engine.script.work import Stopping
from parley.sdk.evals.clock import SystemClock
from parley.sdk.evals.judges import closed, judge_of, prepared

AT_ONCE: Final = 4
"""Attempts graded together: as many as are played where nobody says otherwise."""


async def grade_run(
    run: RunRecord, judge: Any, *, tool_visibility: ToolVisibility = "full", limits: Limits | None = None
) -> RunRecord:
    """`run` with verdicts where it had none; nothing is played again, and what was graded stays.

    `tool_visibility` is what the run was played with. Raises `EvalsMisconfigured` for any other judge than
    the one that graded the rest.
    """
    asked = judge_of(judge)
    try:
        await prepared(asked, run.judge)
        attempts = await _graded(run, asked, tool_visibility, limits or Limits())
    finally:
        await closed(asked)
    statuses = [attempt.status for attempt in attempts]
    changed = {"attempts": tuple(attempts), "status": highest(statuses), "counts": counts_of(statuses)}
    return run.model_copy(update=changed)


async def _graded(
    run: RunRecord, judge: Judge, tool_visibility: ToolVisibility, limits: Limits
) -> list[AttemptRecord]:
    cases = {case.id: case for case in run.suite.cases}
    slots = asyncio.Semaphore(AT_ONCE)
    grading = Grading(
        judge=judge,
        clock=SystemClock(),
        limit_s=limits.judge_s,
        grace_s=limits.cleanup_s,
        stopping=Stopping(),
    )

    async def one(attempt: AttemptRecord) -> AttemptRecord:
        if not is_owed(attempt):
            return attempt
        async with slots:
            return await grade_later(attempt, cases[attempt.case_id], grading, tool_visibility)

    return await asyncio.gather(*map(one, run.attempts))
