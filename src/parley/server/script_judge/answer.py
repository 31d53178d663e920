"""What a judge said, read as strictly as everywhere: a verdict with marked quotes, or why there is none."""

from __future__ import annotations

from typing import Literal

from parley.engine.script.ports import Graded
from parley.engine.script.quotes import Said
from parley.engine.script.record import Quote
from parley.engine.script.rubric import GradeRequest
from parley.engine.script.verdict import VerdictUnreadable, read_verdict
from parley.server.script_judge.schemas import GradeReply, VerdictReply


def replied(request: GradeRequest, graded: Graded) -> GradeReply:
    """The reply to `request`. The words travel as they came: who asked reads them itself."""
    reply = GradeReply(answer=str(graded.answer), usage=None if graded.usage is None else graded.usage.wire())
    try:
        verdict = read_verdict(graded.answer)
    except VerdictUnreadable as unreadable:
        return reply.model_copy(update={"problem": unreadable.problem})
    said = Said(request.shown())
    quotes = [Quote(text=quote, found=said.has(quote)) for quote in verdict.quotes]
    status: Literal["passed", "failed", "inconclusive"] = "inconclusive"
    if verdict.passed is not None:
        status = "passed" if verdict.passed else "failed"
    told = VerdictReply(status=status, reason=verdict.reason, quotes=quotes)
    return reply.model_copy(update={"verdict": told})
