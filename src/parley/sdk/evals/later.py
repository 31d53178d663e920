"""Grading a kept run whose judge was out of reach, from the evidence that was stored."""

from __future__ import annotations

from typing import Any, Final

from parley.engine.script.grading import Grading
from parley.engine.script.later import grade_run_later
from parley.engine.script.ports import Limits
from parley.engine.script.record import RunRecord
from parley.engine.script.rubric import ToolVisibility
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
    asked, limits = judge_of(judge), limits or Limits()
    try:
        await prepared(asked, run.judge)
        grading = Grading(
            judge=asked,
            clock=SystemClock(),
            limit_s=limits.judge_s,
            grace_s=limits.cleanup_s,
            stopping=Stopping(),
        )
        return await grade_run_later(run, grading, tool_visibility, at_once=AT_ONCE)
    finally:
        await closed(asked)
