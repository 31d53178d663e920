"""Judges in the app: what makes an object one, and how the engine asks it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from parley.engine.script.grading import MAX_EVIDENCE_CHARS
from parley.engine.script.ports import Graded
from parley.engine.script.record import JudgeIdentity
from parley.engine.script.revision import digest
from parley.engine.script.rubric import RUBRIC_VERSION, GradeRequest
from parley.sdk.evals.calling import call
from parley.sdk.evals.errors import EvalsMisconfigured


class OwnJudge:
    """Any object with `grade(request, problem)`, sync or async.

    It answers `{passed, reason, evidence}`, `{inconclusive, reason}`, or an llm's text that holds one of
    them. `id` and `version` of the object, where it has them, tell which judge it is.
    """

    def __init__(self, judge: Any) -> None:
        self._judge = judge
        name = str(getattr(judge, "id", None) or type(judge).__qualname__)
        facts = {"id": name, "version": str(getattr(judge, "version", "")), "rubric": RUBRIC_VERSION}
        self.identity = JudgeIdentity(id=name, version_hash=digest(facts), location="app")
        self.max_evidence_chars = int(getattr(judge, "max_evidence_chars", MAX_EVIDENCE_CHARS))

    async def grade(self, request: GradeRequest, problem: str | None) -> Graded:
        """Ask it."""
        answer = await call(self._judge.grade, request, problem)
        return answer if isinstance(answer, Graded) else Graded(answer=answer)


def judge_of(given: Any) -> Any:
    """The engine's judge for what a customer gave. Raises `EvalsMisconfigured`."""
    if given is None or hasattr(given, "prepare"):
        return given  # an identity that is known only once the judge was prepared
    if isinstance(getattr(given, "identity", None), JudgeIdentity):
        return given
    if callable(getattr(given, "grade", None)):
        return OwnJudge(given)
    raise EvalsMisconfigured(f"A judge has a method `grade`; {type(given).__name__} has none.")


async def prepared(judge: Any, expected: JudgeIdentity | None) -> None:
    """Have the judge ready, and be sure that it is the expected one. Raises `EvalsMisconfigured`."""
    if judge is None:
        return
    if hasattr(judge, "prepare"):
        await judge.prepare()
    if expected is not None and judge.identity != expected:
        raise EvalsMisconfigured(
            f"The run is pinned to the judge {expected.id} ({expected.version_hash[:12]}); "
            f"this is {judge.identity.id} ({judge.identity.version_hash[:12]})."
        )


async def closed(judge: Any) -> None:
    """Let the judge give back what it holds."""
    close: Callable[[], Any] | None = getattr(judge, "close", None)
    if close is not None:
        given = close()
        if asyncio.iscoroutine(given):
            await given
