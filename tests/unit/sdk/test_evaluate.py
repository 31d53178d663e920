from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import respx

from parley.sdk import (
    AsyncClient,
    Case,
    Output,
    Report,
    RetryPolicy,
    assert_evaluation,
    evaluate,
    evaluate_async,
)
from parley.sdk.errors import NotFoundByName, ServiceFault
from parley.sdk.evaluating import posting
from parley.sdk.evaluating.owed import DatasetChanged
from parley.sdk.evaluating.report import EvaluationUnfinished
from tests.unit.sdk.shell_plane import DATASET, RUN, ShellPlane

URL, KEY = "https://parley.test", "sk-par-test"


@pytest.fixture
def plane(monkeypatch: pytest.MonkeyPatch) -> ShellPlane:
    """A plane, and nothing of a pipeline around us."""
    for name in ("GITHUB_ACTIONS", "GITLAB_CI"):
        monkeypatch.delenv(name, raising=False)
    return ShellPlane()


@contextlib.asynccontextmanager
async def client_of(plane: ShellPlane) -> AsyncIterator[AsyncClient]:
    hasty = RetryPolicy(retries=1, base_s=0.001)
    async with AsyncClient(URL, KEY, retries=hasty, transport=httpx.MockTransport(plane)) as client:
        yield client


async def evaluated(plane: ShellPlane, agent: Any, dataset: str = "Support", **options: Any) -> Report:
    async with client_of(plane) as client:
        return await evaluate_async(dataset, agent, client=client, table=False, **options)


async def answer(case: Case) -> str:
    return f"Answer to {case.query}"


async def test_every_case_and_repetition_is_answered_once(plane: ShellPlane) -> None:
    plane.repetitions = 2
    report = await evaluated(plane, answer, repetitions=2, split="smoke", settings="g", commit="abc")
    assert set(plane.results) == {f"q{n}/{r}" for n in range(5) for r in (1, 2)}
    assert plane.results["q3/2"]["output"] == {"text": "Answer to Question 3?"}
    assert plane.started == {
        "datasetId": DATASET,
        "evaluationSettingsId": "g",
        "split": "smoke",
        "repetitions": 2,
        "commit": "abc",
    }
    assert (report.id, len(report.results), report.average_rating, report.pass_rate) == (RUN, 10, 7.5, 0.8)


async def test_a_plain_function_answers_several_cases_at_once(plane: ShellPlane) -> None:
    together = threading.Barrier(5)

    def agent(case: Case) -> Output:
        together.wait(10)
        calls = [{"name": "find", "arguments": {"n": case.index}}]
        return Output(text="Yes.", tool_calls=calls, usage={"costUsd": 0.1}, duration_ms=12.5)

    await evaluated(plane, agent, concurrency=5)
    posted = plane.results["q2/1"]
    assert posted["toolCalls"] == [{"name": "find", "arguments": {"n": 2}}]
    assert (posted["usage"], posted["timings"]) == ({"costUsd": 0.1}, {"durationMs": 12})


async def test_no_more_cases_are_in_work_than_asked(plane: ShellPlane) -> None:
    at_work, most = 0, 0

    async def agent(_: Case) -> str:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        await asyncio.sleep(0)
        at_work -= 1
        return "Yes."

    await evaluated(plane, agent, concurrency=2)
    assert most == 2


@pytest.mark.parametrize("is_async", [True, False])
async def test_what_an_agent_raises_fails_its_case_alone(plane: ShellPlane, is_async: bool) -> None:
    def plain(case: Case) -> Any:
        faults: list[Any] = [ValueError("no stock"), StopIteration("odd"), 7, None]
        if case.index >= len(faults):
            return "Yes."
        if isinstance(faults[case.index], Exception):
            raise faults[case.index]
        return faults[case.index]

    async def awaited(case: Case) -> Any:
        await asyncio.sleep(0)
        return plain(case)

    report = await evaluated(plane, awaited if is_async else plain)
    errors = [plane.results[f"q{n}/1"].get("error") for n in range(5)]
    assert errors[0] == {"type": "ValueError", "message": "no stock"}
    assert errors[1] is not None
    assert errors[2] == {"type": "TypeError", "message": "the agent has to return text or an Output, not int"}
    assert errors[4] is None
    assert [one.case_id for one in report.failing()] == ["q0", "q1", "q2", "q3"]


@pytest.mark.parametrize("hangs", [lambda _: time.sleep(1), lambda _: asyncio.sleep(30)])
async def test_an_answer_that_takes_too_long_is_an_error(plane: ShellPlane, hangs: Any) -> None:
    await evaluated(plane, hangs, case_timeout_s=0.05)
    assert plane.results["q0/1"]["error"] == {"type": "TimeoutError", "message": "no answer within 0.05 s"}


async def test_a_run_that_was_stopped_goes_on_with_what_is_owed(
    plane: ShellPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    async def stopped(case: Case) -> str:
        if case.id == "q3":
            task.cancel()
            await asyncio.sleep(30)
        return await answer(case)

    task = asyncio.create_task(evaluated(plane, stopped, concurrency=1))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert set(plane.results) == {"q0/1", "q1/1", "q2/1"}, "what was answered is handed in"
    assert f"resume='{RUN}'" in capsys.readouterr().err
    plane.started = {}

    async def counting(case: Case) -> str:
        asked.append(case.id)
        return "Yes."

    report = await evaluated(plane, counting, resume=RUN)
    assert (asked, plane.started, len(report.results)) == (["q3", "q4"], {}, 5)


async def test_posting_that_fails_stops_the_evaluation_and_tells_how_to_go_on(
    plane: ShellPlane, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(posting, "PAUSE_S", 0.01)
    plane.before_post = lambda: httpx.Response(500, json={"error": "Broken.", "code": "internal_error"})

    async def slow(case: Case) -> str:
        if case.index:
            await asyncio.sleep(30)
        return "Yes."

    with pytest.raises(ServiceFault, match="Broken"):
        await evaluated(plane, slow)
    assert "Go on where it was" in capsys.readouterr().err


async def test_results_are_posted_in_batches_under_the_services_bound(
    plane: ShellPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posting, "BATCH", 2)
    await evaluated(plane, answer)
    assert max(len(batch) for batch in plane.batches) <= 2
    assert sorted(key for batch in plane.batches for key in batch) == [f"q{n}/1" for n in range(5)]


async def test_what_the_service_will_not_take_is_told(plane: ShellPlane) -> None:
    plane.refuse = lambda result: result["caseId"] == "q1"
    report = await evaluated(plane, answer)
    assert [one["idempotencyKey"] for one in report.refused] == ["q1/1"]
    assert "not taken: q1/1" in str(report)


async def test_scores_are_waited_for_and_not_for_ever(plane: ShellPlane) -> None:
    plane.polls_until_scored = 3
    assert (await evaluated(plane, answer)).average_rating == 7.5
    plane.polls_until_scored = 10**9
    with pytest.raises(EvaluationUnfinished, match=RUN):
        await evaluated(plane, answer, resume=RUN, scoring_timeout_s=0.05)


async def test_a_dataset_that_changed_meanwhile_is_not_mixed(plane: ShellPlane) -> None:
    plane.version = 2
    with pytest.raises(DatasetChanged, match="version 1 of 'Support'"):
        await evaluated(plane, answer, resume=RUN)
    with pytest.raises(NotFoundByName, match="there is 'Support'"):
        await evaluated(plane, answer, dataset="Suport")


async def test_the_pipeline_tells_where_the_agent_comes_from(
    plane: ShellPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_SHA", "4f0c2d1")
    monkeypatch.setenv("GITHUB_REF", "refs/pull/12/merge")
    monkeypatch.setenv("GITHUB_HEAD_REF", "faster")
    await evaluated(plane, answer)
    told = {name: plane.started.get(name) for name in ("commit", "branch", "pullRequest")}
    assert told == {"commit": "4f0c2d1", "branch": "faster", "pullRequest": "12"}


@respx.mock
def test_without_a_loop_it_blocks_prints_the_table_and_asks_the_gate(
    plane: ShellPlane, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PARLEY_URL", URL)
    monkeypatch.setenv("PARLEY_API_KEY", KEY)
    respx.route(host="parley.test").mock(side_effect=plane)

    def agent(case: Case) -> str:
        return str(case.index / case.index)

    report = evaluate("Support", agent)
    table = capsys.readouterr().err
    assert "ZeroDivisionError: division by zero" in table
    assert "mean rating 7.50, pass rate 80%, 4 rated, 1 failed, 0 skipped of 5" in table
    assert report.gate(fail_under=7, no_regression=True, max_regressed_cases=0).passed
    assert plane.gate_asked[-1] == {"failUnder": "7", "noRegression": "true", "maxRegressedCases": "0"}
    assert_evaluation(report, min_rating=7)
    for verdict in ("failed", "inconclusive"):
        plane.verdict = verdict
        with pytest.raises(AssertionError, match=f"is {verdict}\n  fail-under: The mean is 7.5.") as caught:
            assert_evaluation(report, min_rating=7)
        assert "Question 0? #1: 0.0" in str(caught.value)


@respx.mock
async def test_where_a_loop_runs_already_the_blocking_form_works_too(
    plane: ShellPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARLEY_URL", URL)
    monkeypatch.setenv("PARLEY_API_KEY", KEY)
    respx.route(host="parley.test").mock(side_effect=plane)
    assert len(evaluate(DATASET, lambda _: "Yes.", table=False).results) == 5
