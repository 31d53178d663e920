"""A small stage for attempts: one suite with every phase in it, short limits, a still judge."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

from parley.engine.script.attempt import Surroundings, Tell, nobody, play
from parley.engine.script.draft import AttemptPlan
from parley.engine.script.fakes import ScriptedApp, ScriptedJudge, answers, choice, pauses
from parley.engine.script.ports import Execution, Judge, Limits
from parley.engine.script.reading import read_suite
from parley.engine.script.record import AttemptRecord
from parley.engine.script.revision import effective_evidence, suite_revision
from parley.engine.script.shapes import Suite
from parley.engine.script.work import Stopping

SHORT = Limits(case_s=0.4, judge_s=0.4, setup_s=0.4, verify_s=0.4, cleanup_s=0.4)
"""For what hangs: long enough for everything else on a busy machine, short enough to wait for."""
AMPLE = Limits()
"""As shipped, where nothing hangs."""

EVERY_PHASE: dict[str, Any] = {
    "id": "refunds",
    "cases": [
        {
            "id": "approve",
            "params": {"order": 17},
            "steps": [
                {"message": "Refund 17.", "expect": {"type": "interrupt", "criteria": ["Asks first."]}},
                {
                    "resume": {"using": "approve"},
                    "expect": {
                        "type": "answer",
                        "text": {"contains": ["refunded"]},
                        "criteria": ["Says that it is done.", "Is friendly."],
                        "reference": {"using": "policy"},
                    },
                },
                {"message": "Thanks.", "expect": {"type": "answer"}},
            ],
        }
    ],
}
ORDER = [
    "params", "setup", "execute-1", "respond", "execute-2", "reference", "execute-3", "verify", "teardown",
]  # fmt: skip
"""What the app is asked when all goes well."""


class LoopClock:
    """The clock of the running loop."""

    def now_ms(self) -> int:
        return round(asyncio.get_running_loop().time() * 1000)

    def monotonic_s(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def executions() -> list[Execution]:
    return [pauses(choice("approve", "refuse")), answers("It is refunded."), answers("Welcome.")]


def app_of(**fields: Any) -> ScriptedApp:
    return ScriptedApp(**{"executions": executions(), "references": {"policy": {"days": 14}}, **fields})


def suite_of(*steps: dict[str, Any], **suite: Any) -> Suite:
    return read_suite({"id": "s", "cases": [{"id": "c", "steps": list(steps)}], **suite})


def plan_of(suite: Suite) -> AttemptPlan:
    return AttemptPlan(
        suite=suite,
        case=suite.cases[0],
        revision=suite_revision(suite),
        evidence=effective_evidence(suite),
        attempt_id="attempt-1",
        session_id="session-1",
    )


async def played(
    app: ScriptedApp,
    suite: Suite | None = None,
    *,
    judge: Judge | None = None,
    stopping: Stopping | None = None,
    limits: Limits = AMPLE,
    tell: Tell = nobody,
) -> AttemptRecord:
    around = Surroundings(
        app=app,
        judge=judge or ScriptedJudge(),
        clock=LoopClock(),
        limits=limits,
        stopping=stopping or Stopping(),
    )
    return await play(plan_of(suite or read_suite(EVERY_PHASE)), around, tell)


def new_ids() -> Any:
    numbers = itertools.count(1)
    return lambda: f"id-{next(numbers)}"
