"""Verdicts that an app could not get from the service are made here, charged, and end the attempt."""

from __future__ import annotations

import json
from typing import Any

from parley.engine.script.faults import JudgeUnreachable
from parley.engine.script.rubric import GradeRequest
from parley.sdk.evals import Evals, ServiceJudge
from parley.server.llm.demo import Rule, Say
from tests.factories.remote_apps import SERVICE_KEY, app_served
from tests.integration.attempts.test_remote_apps import attempts, begun
from tests.integration.suites.scene import ended
from tests.stage import Stage

VERDICT = json.dumps({"reason": "It does.", "passed": True, "evidence": ["by Friday"]})
EXPECT = {"type": "answer", "criteria": ["Names the day."]}
SUITE = {"id": "shop", "cases": [{"id": "when", "steps": [{"message": "When?", "expect": EXPECT}]}]}


class CutOff(ServiceJudge):
    """The service, which can be asked who judges and then cannot be reached any more."""

    async def grade(self, request: GradeRequest, problem: str | None) -> Any:
        """Nobody answers."""
        raise JudgeUnreachable("service_unreachable", "The line was cut.")


async def agent(_turn: Any) -> str:
    """Names it."""
    return "It comes by Friday."


async def test_what_the_app_left_ungraded_is_graded_here(stage: Stage) -> None:
    stage.play(Rule((Say(VERDICT),), part="judge"))
    judge = CutOff(stage.url, stage.tenant.private.token)
    route = Evals(agent=agent, suites=[SUITE], judge=judge).asgi(service_key=SERVICE_KEY)

    async with app_served(route) as url, stage.worker():
        evaluation = await ended(stage, await begun(stage, url, SUITE))
        found = await attempts(stage, evaluation["id"])
        await route.aclose()

    assert (found["when"]["status"], evaluation["statistics"]["average_rating"]) == ("passed", 10)
    [step] = found["when"]["record"]["steps"]
    assert [(one["status"], one["quotes"]) for one in step["criteria"]] == [
        ("passed", [{"text": "by Friday", "found": True}])
    ]
    [charge] = await stage.rows("SELECT source, role FROM ledger WHERE role = 'judge'")
    assert charge == {"source": "evaluation", "role": "judge"}
