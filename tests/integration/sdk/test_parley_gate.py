"""The gate against the real service: the command, the client, a report in a test."""

from __future__ import annotations

import asyncio
import json
from uuid import UUID
from xml.etree import ElementTree

import pytest

from parley.sdk import AsyncClient, assert_evaluation
from parley.sdk.errors import Conflict, InvalidRequest, NotFound
from parley.sdk.evaluating.report import read_report
from tests.factories.evaluations import Rating, evaluated, make_dataset, open_evaluation
from tests.integration.sdk.conftest import Shell
from tests.stage import Stage


@pytest.fixture
async def dataset(stage: Stage) -> UUID:
    """A dataset of the stage's account."""
    return await make_dataset(stage.services.database, stage.tenant.scope)


@pytest.fixture
async def good(stage: Stage, dataset: UUID) -> str:
    """A completed evaluation."""
    return str(await evaluated(stage.services.database, stage.tenant.scope, dataset, [9, 9, 9]))


@pytest.fixture
async def worse(stage: Stage, dataset: UUID, good: str) -> str:
    """A later one of the same dataset, in which one case fell, one failed and one could not be judged."""
    assert good
    ratings: list[Rating] = [3, "failed", None]
    return str(await evaluated(stage.services.database, stage.tenant.scope, dataset, ratings))


async def test_a_good_evaluation_passes_and_is_recorded_once(stage: Stage, shell: Shell, good: str) -> None:
    words = ("gate", good, "--fail-under", "7", "--no-regression", "--record", "--caller", "ci", "--json")
    first, second = await shell.parley(*words), await shell.parley(*words)
    assert (first.code, second.code) == (0, 0), first.err
    answer = json.loads(first.out)
    assert (answer["passed"], answer["first_run"], answer["recorded"]) == (True, True, True)
    assert [check["check"] for check in answer["checks"]] == ["fail-under", "no-regression", "coverage"]
    gates = (await stage.http.get("/api/v1/gates")).json()["data"]
    assert [(gate["caller"], gate["verdict"]) for gate in gates] == [("ci", "passed")]


async def test_a_bad_one_fails_in_every_report(shell: Shell, worse: str) -> None:
    files = ("--junit", "j.xml", "--markdown", "m.md")
    ran = await shell.parley("gate", worse, "--fail-under", "7", "--max-regressed-cases", "0", *files)
    assert ran.code == 1, ran.err
    assert "✗ fail-under: " in ran.out
    assert "✗ coverage: " in ran.out
    cases, checks = ElementTree.parse(shell.folder / "j.xml").getroot()
    assert (cases.get("tests"), cases.get("failures"), cases.get("errors")) == ("3", "1", "2")
    assert (checks.get("tests"), checks.get("failures")) == ("3", "3")
    assert "❌ failed" in (shell.folder / "m.md").read_text()


async def test_too_few_pairs_decide_nothing(stage: Stage, dataset: UUID, good: str, shell: Shell) -> None:
    database, scope = stage.services.database, stage.tenant.scope
    same = await evaluated(database, scope, dataset, [9, 9, 9])
    ran = await shell.parley("gate", str(same), "--significance", "0.05")
    assert (ran.code, "inconclusive" in ran.out) == (2, True), ran.err
    assert good != str(same)


async def test_the_clients_errors_are_the_gates_own(
    stage: Stage, sdk: AsyncClient, dataset: UUID, good: str
) -> None:
    still_open = await open_evaluation(stage.services.database, stage.tenant.scope, dataset)
    with pytest.raises(InvalidRequest):
        await sdk.evaluations.gate(good, fail_under=11)
    with pytest.raises(NotFound):
        await sdk.evaluations.gate("0199f0c4-0000-7000-8000-000000000000", fail_under=7)
    with pytest.raises(Conflict) as refused:
        await sdk.evaluations.gate(str(still_open), fail_under=7, min_coverage=0)
    assert refused.value.code == "evaluation_open"


async def test_a_report_is_read_compared_and_asserted(sdk: AsyncClient, good: str, worse: str) -> None:
    report = await read_report(sdk, worse)
    assert [one.case_id for one in report.failing()] == ["c1", "c0", "c2"]
    assert (report.average_rating, report.statistics.failed_count) == (1.5, 1)
    assert "Because." in str(report)
    with pytest.raises(AssertionError, match="fail-under") as caught:
        await asyncio.to_thread(assert_evaluation, report, min_rating=7)
    assert "Question 0 #1: 3.0 Because." in str(caught.value)
    comparison = await sdk.evaluations.compare(worse, good)
    assert (comparison.comparable, comparison.counts["regressed"]) == (True, 2)
    await asyncio.to_thread(assert_evaluation, await read_report(sdk, good), min_rating=7, no_regression=True)
    listed = [one.id async for one in sdk.evaluations.list(limit=1)]
    assert listed == [worse, good]
