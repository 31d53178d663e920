"""`POST /api/v1/evals/runs`: runs of the SDK kept as evaluations, compared, gated; forged ones refused."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from parley.engine.script.faults import JudgeUnreachable
from parley.engine.script.record import RunRecord
from parley.engine.script.rubric import GradeRequest
from parley.sdk.errors import Conflict
from parley.sdk.evals import Evals, ServiceJudge, upload_run
from parley.server.llm.demo import Rule, Say
from tests.factories.accounts import Tenant, make_key
from tests.stage import Stage

RUNS = "/api/v1/evals/runs"
SUITE: dict[str, Any] = {
    "id": "orders",
    "name": "Orders",
    "cases": [
        {
            "id": name,
            "steps": [
                {
                    "message": f"Where is {name}?",
                    "expect": {"type": "answer", "text": {"contains": ["sent"]}, "criteria": ["Is polite."]},
                }
            ],
        }
        for name in ("first", "second")
    ],
}


class Kind:
    """A judge that is content."""

    async def grade(self, _request: Any, _problem: str | None) -> dict[str, Any]:
        """Passes."""
        return {"passed": True, "reason": "It is.", "evidence": ["was sent"]}


async def run_of(*lost: str, suite: Any = SUITE, **options: Any) -> RunRecord:
    """A run in which some orders are lost."""

    async def agent(turn: Any) -> str:
        return "It is lost." if any(name in turn.text for name in lost) else "It was sent, dear customer."

    return await Evals(agent=agent, suites=[suite], judge=Kind(), commit="abc").run(**options)


@pytest.fixture
def key(stage: Stage) -> tuple[str, str]:
    """Where and with which key runs are sent."""
    return stage.url, stage.tenant.private.token


async def test_runs_become_evaluations_that_are_compared_and_gated(
    stage: Stage, key: tuple[str, str]
) -> None:
    before = await upload_run(await run_of(repetitions=2), *key)
    after = await upload_run(await run_of("second", repetitions=2), *key)

    assert before.suite_id == after.suite_id
    told = await stage.read(f"/api/v1/evaluations/{after.evaluation_id}")
    assert (told["state"], told["run_source"], told["commit"], told["name"]) == (
        "completed",
        "upload",
        "abc",
        "Orders",
    )
    assert told["statistics"]["average_rating"] == 5
    attempts: Any = await stage.read(f"/api/v1/evaluations/{after.evaluation_id}/attempts?status=failed")
    assert [(one["case_id"], one["repetition"], one["target"]) for one in attempts] == [
        ("second", 1, "process"),
        ("second", 2, "process"),
    ]
    whole = await stage.read(f"/api/v1/evaluations/{after.evaluation_id}/attempts/{attempts[0]['id']}")
    assert whole["record"]["steps"][0]["observation"]["text"] == "It is lost."
    path = f"/api/v1/evaluations/{after.evaluation_id}"
    compared = await stage.read(f"{path}/compare")
    assert (compared["comparable"], compared["baseline_id"]) == (True, before.evaluation_id)
    gate = await stage.read(f"{path}/gate?failUnder=7&noRegression=true")
    assert gate["verdict"] == "failed"


async def test_run_is_kept_once_however_often_and_from_wherever_it_is_sent(
    stage: Stage, key: tuple[str, str], stranger: Tenant
) -> None:
    run = await run_of()

    kept = await asyncio.gather(*(upload_run(run, *key) for _ in range(3)))
    foreign = await upload_run(run, key[0], stranger.private.token)

    assert len({one.evaluation_id for one in kept}) == 1
    assert foreign.evaluation_id != kept[0].evaluation_id
    hidden = await stage.http.get(f"/api/v1/evaluations/{foreign.evaluation_id}/attempts")
    assert hidden.status_code == 404
    with pytest.raises(Conflict):
        await upload_run(run.model_copy(update={"duration_ms": run.duration_ms + 1}), *key)


async def test_late_repeat_does_not_bring_an_older_suite_back(stage: Stage, key: tuple[str, str]) -> None:
    old, new = await run_of(), await run_of(suite={**SUITE, "onSemanticFailure": "continue"})
    first = await upload_run(old, *key)
    await upload_run(new, *key)

    assert await upload_run(old, *key) == first

    told = await stage.read(f"/api/v1/suites/{first.suite_id}")
    assert (told["version"], told["script"]["suite"]["onSemanticFailure"]) == (2, "continue")


async def test_run_id_names_one_run_whatever_its_suite(key: tuple[str, str]) -> None:
    """Runs of two suites do not wait for each other; one of them is a conflict, never a fault of ours."""
    runs = [await run_of(suite={**SUITE, "id": name}) for name in ("a", "b", "c", "d")]
    same = [run.model_copy(update={"run_id": runs[0].run_id}) for run in runs]

    kept = await asyncio.gather(*(upload_run(run, *key) for run in same), return_exceptions=True)

    assert sorted(type(one).__name__ for one in kept) == ["Conflict"] * 3 + ["UploadedRun"], kept


class CutOff(ServiceJudge):
    """The service, which can be asked who judges and then cannot be reached any more."""

    async def grade(self, request: GradeRequest, problem: str | None) -> Any:
        """Nobody answers."""
        raise JudgeUnreachable("service_unreachable", "The line was cut.")


async def test_open_criteria_are_graded_as_the_run_is_kept_and_paid_once(
    stage: Stage, key: tuple[str, str]
) -> None:
    verdict = json.dumps({"reason": "It is.", "passed": True, "evidence": []})
    stage.play(Rule((Say(verdict),), part="judge"))

    async def agent(_turn: Any) -> str:
        return "It was sent."

    evals = Evals(agent=agent, suites=[SUITE], judge=CutOff(*key))
    runs = [await evals.run(), await evals.run()]
    assert {run.status for run in runs} == {"ungraded"}
    without = await make_key(stage.services.database, stage.tenant.account_id, scopes=["evaluations:write"])

    left = await upload_run(runs[0], key[0], without.token)
    graded = [await upload_run(runs[1], *key) for _ in range(2)]

    assert graded[0] == graded[1]
    told = [await stage.read(f"/api/v1/evaluations/{one.evaluation_id}") for one in (left, graded[0])]
    assert [one["statistics"]["skipped_count"] for one in told] == [2, 0]
    assert told[1]["statistics"]["average_rating"] == 10
    assert len(await stage.rows("SELECT 1 FROM ledger WHERE source = 'grade'")) == 2


async def test_another_suite_under_the_id_is_a_new_version(stage: Stage, key: tuple[str, str]) -> None:
    run = await run_of(case_ids=["first"])
    kept = await upload_run(run, *key)
    longer = {**SUITE, "onSemanticFailure": "continue"}

    async def agent(_turn: Any) -> str:
        return "It was sent."

    again = await upload_run(await Evals(agent=agent, suites=[longer], judge=Kind()).run(), *key)

    told = [await stage.read(f"/api/v1/evaluations/{one.evaluation_id}") for one in (kept, again)]
    assert [one["version"] for one in told] == [1, 2]
    assert [one["case_count"] for one in told] == [1, 2]
    assert told[0]["grading"]["cases"] == ["first"]


async def test_run_that_does_not_follow_from_itself_is_refused_in_words(stage: Stage) -> None:
    told = (await run_of("first")).wire()
    told["attempts"][0]["status"] = "passed"

    answer = await stage.http.post(RUNS, json={"run": told})

    assert (answer.status_code, answer.json()["code"]) == (422, "run_inconsistent"), answer.text
    lines = answer.json()["details"]
    assert {
        "attempt": told["attempts"][0]["attemptId"],
        "problem": "the status is passed and should be failed",
    } in lines
    assert await stage.rows("SELECT id FROM evaluations") == []


async def test_only_keys_with_the_scope_may_send_runs(stage: Stage) -> None:
    others = await make_key(stage.services.database, stage.tenant.account_id, scopes=["judge"])
    body = {"run": (await run_of()).wire()}
    keys = {"scope_missing": others.auth, "public_key_refused": stage.tenant.public.auth}
    for code, headers in keys.items():
        answer = await stage.http.post(RUNS, json=body, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, code)
    answer = await stage.http.post(RUNS, json=body, headers={"Authorization": "Bearer sk-par-unknown"})
    assert answer.status_code == 401


async def test_what_is_no_record_is_refused_by_its_fields(stage: Stage) -> None:
    run = (await run_of()).wire()
    for body, field in (
        ({"run": {}}, "run.runId"),
        ({"run": {**run, "more": 1}}, "run.more"),
        ({"run": {**run, "suite": {**run["suite"], "cases": []}}}, "run.suite.cases"),
        ({"run": {**run, "attempts": []}}, "run.attempts"),
    ):
        answer = await stage.http.post(RUNS, json=body)
        assert answer.status_code == 400, answer.text
        assert field in [one["field"] for one in answer.json()["details"]]


async def test_command_line_keeps_runs_and_grades_what_is_open(
    stage: Stage, key: tuple[str, str], tmp_path: Path
) -> None:
    verdict = json.dumps({"reason": "It is.", "passed": True, "evidence": []})
    stage.play(Rule((Say(verdict),), part="judge"))
    (tmp_path / "shop.py").write_text(APP.format(suite=json.dumps(SUITE)))

    ran = await parley(
        tmp_path, key, "run", "--entry", "shop:evals", "--judge", "service", "--upload", "--json"
    )
    assert ran.returncode == 0, ran.stderr
    assert "orders: kept as evaluation" in ran.stderr
    [record] = json.loads(ran.stdout)
    for attempt in record["attempts"]:
        attempt["status"] = attempt["steps"][0]["status"] = "ungraded"
        attempt["steps"][0]["criteria"][0] |= {"status": "ungraded", "reason": "", "calls": 0, "quotes": []}
    record |= {"status": "ungraded", "counts": {"ungraded": 2, "total": 2}, "runId": "another"}
    (tmp_path / "open.json").write_text(json.dumps([record]))

    graded = await parley(tmp_path, key, "grade", "open.json")
    assert (graded.returncode, "orders: 2 passed" in graded.stderr) == (0, True), graded.stderr
    kept = await parley(tmp_path, key, "upload", "open.json")
    assert (kept.returncode, "kept as evaluation" in kept.stderr) == (0, True), kept.stderr
    assert len(await stage.rows("SELECT 1 FROM evaluations WHERE state = 'completed'")) == 2


APP = """
from parley.sdk.evals import Evals, function_agent

evals = Evals(agent=function_agent(lambda text: "It was sent."), suites=[{suite}])
"""


async def parley(folder: Path, key: tuple[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command, as in a shell; the service goes on meanwhile."""
    environment = {"PATH": os.environ["PATH"], "PARLEY_URL": key[0], "PARLEY_API_KEY": key[1]}

    def run() -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).parent / "parley"), "evals", *arguments]
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    return await asyncio.to_thread(run)
