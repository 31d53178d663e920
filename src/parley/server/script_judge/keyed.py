"""The judge for a caller whose run was sent in with open criteria: each grade is asked and paid once."""

from __future__ import annotations

import asyncio
from typing import Final

from parley.engine.ports import Clock
from parley.engine.script.faults import JudgeFault, JudgeUnreachable
from parley.engine.script.grading import MAX_EVIDENCE_CHARS, Grading
from parley.engine.script.later import grade_run_later, is_owed
from parley.engine.script.observation import Usage
from parley.engine.script.ports import Graded, Limits
from parley.engine.script.record import RunRecord
from parley.engine.script.revision import canonical_json, digest
from parley.engine.script.rubric import GradeRequest
from parley.engine.script.work import Stopping
from parley.server.accounts.authenticator import Caller
from parley.server.errors import JudgeFailed, LlmsNotConfigured, ServerError
from parley.server.llm.profiles import ProfileName
from parley.server.script_judge.grades import Asked, Grades
from parley.server.script_judge.judge import ScriptJudges, Seat

MOST_S: Final = 60.0
"""For the open criteria of one run; what is not graded by then stays ungraded."""
AT_ONCE: Final = 8
"""Attempts of a run that are graded together."""
_LIMITS: Final = Limits()


class KeyedJudge:
    """`engine.script.ports.Judge` on behalf of a caller. `run_id` keeps the grades of runs apart."""

    max_evidence_chars = MAX_EVIDENCE_CHARS

    def __init__(self, grades: Grades, caller: Caller, seat: Seat, run_id: str) -> None:
        self.identity = seat.identity
        self._grades = grades
        self._caller = caller
        self._seat = seat
        self._run_id = run_id

    async def grade(self, request: GradeRequest, problem: str | None) -> Graded:
        """The judge's words. Raises `JudgeUnreachable` where the account may not ask: it stays ungraded."""
        told = {"request": request.wire(), "problem": problem, "run": self._run_id}
        asked = Asked(
            seat=self._seat,
            request=request,
            problem=problem,
            key=f"run/{digest(told)}",
            body=canonical_json(told).encode(),
        )
        try:
            answer = await self._grades.grade(self._caller, asked)
        except JudgeFailed as failed:
            raise JudgeFault(failed.code, failed.text) from failed
        except ServerError as refused:
            raise JudgeUnreachable(refused.code, refused.text) from refused
        used = answer.get("usage")
        return Graded(answer=answer["answer"], usage=None if used is None else Usage.of_wire(used))


async def graded_for(
    caller: Caller, run: RunRecord, profile: ProfileName, judges: ScriptJudges, grades: Grades, clock: Clock
) -> RunRecord:
    """`run` with verdicts on what was open, if its judge is the one that we have now."""
    try:
        seat = judges.seat(profile)
    except LlmsNotConfigured:
        return run
    if seat.identity != run.judge or not any(map(is_owed, run.attempts)):
        return run
    stopping = Stopping()
    grading = Grading(
        judge=KeyedJudge(grades, caller, seat, run.run_id),
        clock=clock,
        limit_s=_LIMITS.judge_s,
        grace_s=_LIMITS.cleanup_s,
        stopping=stopping,
    )
    timer = asyncio.get_running_loop().call_later(MOST_S, stopping.request)
    try:
        return await grade_run_later(run, grading, at_once=AT_ONCE)
    finally:
        timer.cancel()
