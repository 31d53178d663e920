"""`evaluate` against the real shell plane: cases are frozen, answers posted, scores waited for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from parley.sdk import AsyncClient, Case, Output, evaluate_async
from parley.sdk.errors import NotFound
from tests.stage import Stage

DATASET: dict[str, Any] = {
    "name": "Support questions",
    "acceptanceCriteria": "The answer is right.",
    "questions": [
        {"id": f"q{n}", "main_question": {"query": f"Question {n}?", "expectedResults": "30 days."}}
        for n in range(3)
    ],
}


@pytest.fixture
async def grader(sdk: AsyncClient) -> str:
    """The dataset, and the id of a grader that the stage can pay for."""
    try:
        await sdk.datasets.create(DATASET)
    except NotFound:
        pytest.skip("this service has no shell plane")
    return (await sdk.grading.create({"name": "Low", "judge": {"profile": "low"}})).id


async def test_answers_are_judged_and_the_agents_own_error_is_its_own(
    stage: Stage, sdk: AsyncClient, grader: str
) -> None:
    def agent(case: Case) -> str | Output:
        if case.index == 1:
            raise ValueError("out of stock")
        return Output(text="Within 30 days.", tool_calls=[{"name": "find", "arguments": {}}])

    async with stage.worker():
        report = await evaluate_async(
            "Support questions", agent, settings=grader, repetitions=2, commit="4f0c", client=sdk, table=False
        )
    assert report.evaluation.state == "completed"
    assert (report.evaluation.commit, report.refused) == ("4f0c", [])
    by_case = {(one.case_id, one.repetition): one for one in report.results}
    assert len(by_case) == 6
    assert {by_case["q1", n].status for n in (1, 2)} == {"failed"}
    assert "out of stock" in str(by_case["q1", 1].error)
    assert {by_case[case, n].status for case in ("q0", "q2") for n in (1, 2)} == {"rated"}
    answer = await asyncio.to_thread(report.gate, min_coverage=1)
    assert (answer.passed, answer.coverage) == (True, 1.0)


async def test_a_run_that_was_stopped_is_gone_on_with(stage: Stage, sdk: AsyncClient, grader: str) -> None:
    asked: list[str] = []

    async def stopping(case: Case) -> str:
        if case.index == 1:
            task.cancel()
            await asyncio.sleep(30)
        return "Within 30 days."

    async def agent(case: Case) -> str:
        asked.append(case.id)
        return "Within 30 days."

    async with stage.worker():
        task = asyncio.create_task(
            evaluate_async("Support questions", stopping, settings=grader, concurrency=1, client=sdk)
        )
        with pytest.raises(asyncio.CancelledError):
            await task
        [started] = [one async for one in sdk.evaluations.list()]
        report = await evaluate_async("", agent, resume=started.id, client=sdk, table=False)
    assert asked == ["q1", "q2"]
    assert (report.id, len(report.results)) == (started.id, 3)
