"""`/api/v1/custom-agent-evaluations`, as owner, stranger, public key and nobody, and as the SDK."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any
from uuid import UUID

import httpx
import pytest

from parley.server.api.app import create_app
from parley.server.config import ProfileSettings, Settings
from parley.server.db.database import Database
from parley.server.evaluations.finish import close
from parley.server.wiring import open_services
from tests.factories.accounts import Tenant, make_key, make_tenant
from tests.factories.datasets import PLANE, make, make_dataset, post, question, result, start_run

UNKNOWN = "01a22cd1-1c69-7435-8e3a-8a2be0d79950"


@pytest.fixture
async def owner(client: httpx.AsyncClient, tenant: Tenant) -> httpx.AsyncClient:
    """The client with the owner's key, sent as this plane's pipelines do."""
    client.headers["x-api-key"] = tenant.private.token
    return client


async def completed(owner: httpx.AsyncClient, dataset_id: str, outputs: dict[str, bool], **run: Any) -> str:
    """A completed run without a judge: a case is `failed`, or rated 0 or not at all by its checks."""
    run_id = await start_run(owner, dataset_id, **run)
    await post(owner, run_id, [result(case, None, error={"type": "broken"}) for case in outputs])
    await make(owner, f"/runs/{run_id}/finalize", {"wait": 0})
    return run_id


PATHS = [
    ("GET", "/datasets", None, 200),
    ("POST", "/datasets", {"name": "N", "questions": [question(0)]}, 201),
    ("GET", "/datasets/{dataset}", None, 200),
    ("PUT", "/datasets/{dataset}", {"name": "N", "questions": [question(0)]}, 200),
    ("DELETE", "/datasets/{dataset}", None, 204),
    ("GET", "/evaluation-settings", None, 200),
    ("POST", "/evaluation-settings", {"name": "S"}, 201),
    ("GET", "/evaluation-settings/{settings}", None, 200),
    ("GET", "/runs", None, 200),
    ("POST", "/runs", {"datasetId": "{dataset}"}, 201),
    ("GET", "/runs/{run}", None, 200),
    ("GET", "/runs/{run}/results", None, 200),
    ("POST", "/runs/{open}/results?wait=0", {"batchId": "b", "results": [result("q1", "")]}, 200),
    ("GET", "/runs/{run}/missing-results", None, 200),
    ("POST", "/runs/{run}/finalize", {}, 200),
    ("GET", "/runs/{run}/gate?failUnder=1", None, 200),
    ("POST", "/runs/{run}/gate?failUnder=1", None, 200),
]


@pytest.mark.parametrize(("method", "path", "body", "status"), PATHS)
async def test_owner_may_and_nobody_else(
    method: str,
    path: str,
    body: Any,
    status: int,
    owner: httpx.AsyncClient,
    tenant: Tenant,
    stranger: Tenant,
    database: Database,
) -> None:
    dataset = await make_dataset(owner)
    made = {
        "dataset": dataset,
        "settings": (await make(owner, "/evaluation-settings", {"name": "S"}))["id"],
        "open": await start_run(owner, dataset),
        "run": await completed(owner, dataset, {"q0": False}),
    }
    if body and "datasetId" in body:
        body = {"datasetId": dataset}
    url = PLANE + path.format(**made)
    reader = await make_key(database, tenant.account_id, scopes=["tests:read"])
    del owner.headers["x-api-key"]

    async def answer_for(headers: dict[str, str]) -> httpx.Response:
        return await owner.request(method, url, headers=headers, json=body)

    assert (await answer_for({})).status_code == 401
    assert (await answer_for(tenant.public.auth)).status_code == 403
    assert (await answer_for(reader.auth)).status_code == (200 if method == "GET" else 403)
    foreign = await answer_for(stranger.auth)
    if "{" in path:
        assert (foreign.status_code, set(foreign.json())) == (404, {"error", "code", "details"})
    elif "datasetId" in (body or {}):
        assert (foreign.status_code, foreign.json()["details"][0]["field"]) == (400, "datasetId")
    elif method == "GET":
        assert [value for value in foreign.json().values() if isinstance(value, list)] == [[]]
    assert (await answer_for({"x-api-key": tenant.private.token})).status_code == status


async def test_unknown_ids_are_404(owner: httpx.AsyncClient) -> None:
    for path in ("/datasets", "/evaluation-settings", "/runs"):
        for wrong in (UNKNOWN, "nonsense"):
            answer = await owner.get(f"{PLANE}{path}/{wrong}")
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_dataset_is_told_as_it_was_sent_with_ids_indices_and_hashes(owner: httpx.AsyncClient) -> None:
    sent = {
        "name": "Support",
        "acceptanceCriteria": "Friendly.",
        "questions": [
            question(
                0,
                splits=["smoke"],
                judgeGuideline="The link is optional.",
                checks=[{"type": "similarity", "method": "rouge-l", "min": 0.5}],
                expectedTrajectory={"tools": ["find"], "mode": "subset"},
            )
            | {"follow_up_questions": [{"query": "And then?", "expectedResults": "No."}]},
            {"main_question": {"query": "Who are you?"}},
        ],
    }
    made = await make(owner, "/datasets", sent)
    assert made["id"] == made["_id"]
    assert (made["version"], made["caseCount"], made["acceptanceCriteria"]) == (1, 2, "Friendly.")
    first, second = made["questions"]
    assert {name: first[name] for name in ("main_question", "follow_up_questions")} == {
        name: sent["questions"][0][name]  # type: ignore[index]
        for name in ("main_question", "follow_up_questions")
    }
    assert (first["id"], first["index"], second["index"]) == ("q0", 0, 1)
    assert second["id"] == second["_id"]
    assert first["contentHash"] != second["contentHash"]
    assert (await owner.get(f"{PLANE}/datasets/{made['id']}")).json() == made
    listed = (await owner.get(f"{PLANE}/datasets")).json()
    assert [each["_id"] for each in listed["datasets"]] == [made["id"]]
    assert listed["page"] == {"limit": 50, "offset": 0, "hasMore": False, "nextCursor": None}


async def test_change_makes_a_version_and_the_same_again_does_not(owner: httpx.AsyncClient) -> None:
    unnamed = {"main_question": {"query": "Who are you?"}}
    made = await make(owner, "/datasets", {"name": "S", "questions": [unnamed, question(1)]})
    run_id = await start_run(owner, made["id"])

    async def put(*questions: Any) -> dict[str, Any]:
        answer = await owner.put(
            f"{PLANE}/datasets/{made['id']}", json={"name": "S", "questions": list(questions)}
        )
        assert answer.status_code == 200, answer.text
        data: dict[str, Any] = answer.json()
        return data

    same = await put(unnamed, question(1))
    assert (same["version"], same["questions"]) == (1, made["questions"])
    changed = await put(question(1, splits=["smoke"]), unnamed, question(2))
    assert changed["version"] == 2
    assert changed["questions"][1]["id"] == made["questions"][0]["id"], "content that stays keeps its id"
    assert changed["questions"][0]["contentHash"] == made["questions"][1]["contentHash"], (
        "a split is no content"
    )
    owed = (await owner.get(f"{PLANE}/runs/{run_id}/missing-results")).json()["missing"]
    assert [each["caseId"] for each in owed] == [each["id"] for each in made["questions"]], "frozen"
    assert (await owner.get(f"{PLANE}/runs/{run_id}")).json()["datasetVersion"] == 1


async def test_unknown_fields_come_back_and_those_of_the_flow_are_kept(
    owner: httpx.AsyncClient, database: Database
) -> None:
    body = {"name": "S", "colour": "red", "questions": [question(0, mood="good")]}
    made = await make(owner, "/datasets", body)
    assert made["ignoredFields"] == ["colour", "questions.0.main_question.mood"]
    kept = {
        "sdk": {"name": "x"},
        "traceId": "t",
        "input": [1],
        "evaluationSubject": "s",
        "numberOfRequests": 3,
    }
    run = await make(owner, "/runs", {"datasetId": made["id"], "colour": "red", **kept})
    assert run["ignoredFields"] == ["colour"]
    posted = await post(owner, run["runId"], [result("q0", "", colour="red", traceId="t-1")])
    assert posted["ignoredFields"] == ["results.0.colour"]
    async with database.raw() as connection:
        row = await connection.fetchrow("SELECT options, transcript FROM evaluations, case_results")
    assert row is not None
    assert row["options"] == kept
    assert row["transcript"]["traceId"] == "t-1"
    ended = await make(owner, f"/runs/{run['runId']}/finalize", {"colour": "red"})
    assert ended["ignoredFields"] == ["colour"]


WRONG_DATASETS = [
    ({"name": "S", "questions": []}, "questions"),
    ({"name": " ", "questions": [question(0)]}, "name"),
    ({"name": "S", "questions": [question(0), question(0)]}, "questions"),
    ({"name": "S", "questions": [question(0, query="")]}, "questions.0.main_question.query"),
    (
        {"name": "S", "questions": [question(0, checks=[{"type": "regex", "pattern": "("}])]},
        "questions.0.main_question.checks.0.pattern",
    ),
    (
        {"name": "S", "questions": [question(0, checks=[{"type": "contains", "txt": "x"}])]},
        "questions.0.main_question.checks.0.text",
    ),
    (
        {"name": "S", "questions": [question(0, expectedTrajectory={"tools": ["a"], "mode": "odd"})]},
        "questions.0.main_question.expectedTrajectory.mode",
    ),
]


@pytest.mark.parametrize(("body", "field"), WRONG_DATASETS)
async def test_wrong_dataset_is_refused_by_field(owner: httpx.AsyncClient, body: Any, field: str) -> None:
    answer = await owner.post(f"{PLANE}/datasets", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert field in [line["field"] for line in answer.json()["details"]]


WRONG_SETTINGS = [
    ({"name": "S", "votes": 2}, "votes"),
    ({"name": "S", "passRating": 11}, "passRating"),
    ({"name": "S", "judge": {"profile": "low", "model": "x"}}, "judge"),
    ({"name": "S", "judge": {"model": "@no/body"}}, "judge.model"),
    ({"name": "S", "judge": {"profile": "odd"}}, "judge.profile"),
]


@pytest.mark.parametrize(("body", "field"), WRONG_SETTINGS)
async def test_wrong_settings_are_refused_by_field(owner: httpx.AsyncClient, body: Any, field: str) -> None:
    answer = await owner.post(f"{PLANE}/evaluation-settings", json=body)
    assert (answer.status_code, [line["field"] for line in answer.json()["details"]]) == (400, [field])


async def test_service_without_llms_starts_no_run(settings: Settings) -> None:
    bare = dataclasses.replace(settings, profile=ProfileSettings())
    async with open_services(bare) as services:
        tenant = await make_tenant(services.database)
        transport = httpx.ASGITransport(create_app(services))
        headers = {"x-api-key": tenant.private.token}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://api.test", headers=headers
        ) as client:
            dataset = await make_dataset(client)
            answer = await client.post(f"{PLANE}/runs", json={"datasetId": dataset})
    assert (answer.status_code, answer.json()["code"]) == (503, "llms_not_configured")


async def test_run_of_a_split_owes_its_cases_alone_under_their_old_indices(owner: httpx.AsyncClient) -> None:
    dataset = await make_dataset(owner, [question(0), question(1, splits=["smoke", "nightly"])])
    run_id = await start_run(owner, dataset, split="smoke", repetitions=2)
    owed = (await owner.get(f"{PLANE}/runs/{run_id}/missing-results")).json()
    assert owed == {
        "runId": run_id,
        "missing": [{"caseId": "q1", "questionIndex": 1, "runNumber": number} for number in (1, 2)],
    }
    posted = await post(owner, run_id, [result("q0"), result("q1", "")])
    assert [each["problems"] for each in posted["failedValidation"]] == [
        [{"field": "caseId", "problem": "is no case of this run"}]
    ]
    answer = await owner.post(f"{PLANE}/runs", json={"datasetId": dataset, "split": "other"})
    assert (answer.status_code, answer.json()["details"]) == (
        400,
        [{"field": "split", "problem": "is unknown; this dataset has nightly, smoke"}],
    )


async def test_what_is_not_valid_comes_back_with_its_reason_and_spoils_no_other(
    owner: httpx.AsyncClient,
) -> None:
    run_id = await start_run(owner, await make_dataset(owner))
    sent = [
        result("q0", ""),
        "nonsense",
        result("q1", "", run_number=2),
        {"idempotencyKey": "k", "questionIndex": 7, "output": {"text": ""}},
        {"idempotencyKey": "k", "output": {"text": ""}},
        {"idempotencyKey": "k", "caseId": "q1"},
        result("q0", "", idempotencyKey="other"),
        {"idempotencyKey": "k2", "questionIndex": 1, "output": {"text": ""}},
    ]
    posted = await post(owner, run_id, sent)
    assert (posted["accepted"], posted["duplicates"]) == (2, 0)
    assert [(each["index"], each["problems"][0]["field"]) for each in posted["failedValidation"]] == [
        (1, ""),
        (2, "runNumber"),
        (3, "questionIndex"),
        (4, ""),
        (5, ""),
        (6, "runNumber"),
    ]
    assert [each["idempotencyKey"] for each in posted["scoredResults"]] == ["q0/1", "k2"]


async def test_first_write_wins(owner: httpx.AsyncClient) -> None:
    run_id = await start_run(owner, await make_dataset(owner))
    first = await post(owner, run_id, [result("q0", None, error={"type": "first"})])
    again = await post(owner, run_id, [result("q0", None, error={"type": "second"}), result("q1", "")])
    assert (first["accepted"], again["accepted"], again["duplicates"]) == (1, 1, 1)
    assert [each["idempotencyKey"] for each in again["scoredResults"]] == ["q0/1", "q1/1"]
    listed = (await owner.get(f"{PLANE}/runs/{run_id}/results?status=failed")).json()["results"]
    assert [(each["caseId"], each["error"]["type"]) for each in listed] == [
        ("q0", "first"),
        ("q1", "empty_output"),
    ]
    assert listed[0]["_id"] == listed[0]["id"]


async def test_racing_batches_keep_one_result_for_each_key(owner: httpx.AsyncClient) -> None:
    run_id = await start_run(owner, await make_dataset(owner, 20))
    batch = [result(f"q{at}", "") for at in range(20)]
    posted = await asyncio.gather(*(post(owner, run_id, batch, batch=f"b{at}") for at in range(4)))
    assert sum(each["accepted"] for each in posted) == 20
    assert sum(each["duplicates"] for each in posted) == 60
    assert posted[0]["liveStatistics"]["failedCount"] == 20


async def test_finalized_run_takes_no_more_results_and_stays_completed(owner: httpx.AsyncClient) -> None:
    dataset = await make_dataset(owner)
    run_id = await completed(owner, dataset, {"q0": False})
    again = await make(owner, f"/runs/{run_id}/finalize", {})
    assert (again["status"], again["missingCases"][0]["caseId"]) == ("completed", "q1")
    answer = await owner.post(f"{PLANE}/runs/{run_id}/results", json={"results": [result("q1", "")]})
    assert (answer.status_code, answer.json()["code"]) == (409, "evaluation_closed")


@pytest.mark.parametrize("state", ["failed", "expired", "cancelled"])
async def test_run_that_ended_otherwise_never_becomes_completed(
    owner: httpx.AsyncClient, tenant: Tenant, database: Database, state: Any
) -> None:
    run_id = await start_run(owner, await make_dataset(owner))
    async with database.session() as session:
        await close(session, tenant.scope, UUID(run_id), state, state, "It ended.")
    answer = await owner.post(f"{PLANE}/runs/{run_id}/finalize")
    assert (answer.status_code, answer.json()["code"]) == (409, "evaluation_not_completed")
    assert (await owner.get(f"{PLANE}/runs/{run_id}")).json()["status"] == state


async def test_finalize_without_a_worker_says_scoring(owner: httpx.AsyncClient) -> None:
    run_id = await start_run(owner, await make_dataset(owner))
    await post(owner, run_id, [result("q0")])
    ended = await make(owner, f"/runs/{run_id}/finalize", {"wait": 0})
    assert (ended["status"], ended["liveStatistics"]["pendingCount"]) == ("scoring", 1)


async def test_gate_of_an_open_run_is_refused(owner: httpx.AsyncClient) -> None:
    """C210."""
    run_id = await start_run(owner, await make_dataset(owner))
    answer = await owner.get(f"{PLANE}/runs/{run_id}/gate?failUnder=1")
    assert (answer.status_code, answer.json()["code"]) == (409, "evaluation_open")


async def test_gate_counts_failures_and_names_them(owner: httpx.AsyncClient) -> None:
    """C207: failed cases are in the mean, and their number is told. No rated result never passes (C201)."""
    run_id = await completed(owner, await make_dataset(owner), {"q0": False, "q1": False})
    gate = (await owner.get(f"{PLANE}/runs/{run_id}/gate?failUnder=0&noRegression=1&minCoverage=1")).json()
    assert (gate["runId"], gate["averageRating"], gate["failedCount"], gate["coverage"]) == (run_id, 0, 2, 1)
    assert [check["check"] for check in gate["checks"]] == ["fail-under", "no-regression", "coverage"]
    assert (gate["passed"], gate["verdict"], gate["firstRun"]) == (False, "failed", True)
    assert gate["recorded"] is False
    unknown = await owner.get(f"{PLANE}/runs/{run_id}/gate?failUnder=0&colour=red")
    assert (unknown.status_code, unknown.json()["details"][0]["field"]) == (400, "colour")


async def test_other_grader_is_another_line(owner: httpx.AsyncClient) -> None:
    """C205: runs with another pass mark, criteria or split have another grading identity or line."""
    dataset = await make_dataset(owner)
    settings = (await make(owner, "/evaluation-settings", {"name": "S", "passRating": 8}))["id"]
    plain, other = (
        await start_run(owner, dataset),
        await start_run(owner, dataset, evaluationSettingsId=settings),
    )
    same = await start_run(owner, dataset, commit="4f0c")
    hashes = [
        (await owner.get(f"/api/v1/evaluations/{run_id}")).json()["data"]["grading_hash"]
        for run_id in (plain, other, same)
    ]
    assert hashes[0] == hashes[2] != hashes[1]


async def test_runs_are_listed_by_their_filters(owner: httpx.AsyncClient) -> None:
    dataset = await make_dataset(owner)
    facts = {"commit": "4f0c", "branch": "main", "pullRequest": "7", "runSource": "ci"}
    wanted = await start_run(owner, dataset, **facts)
    await start_run(owner, dataset)
    for query in (*facts.items(), ("status", "in_progress")):
        runs = (await owner.get(f"{PLANE}/runs", params=dict([query]))).json()["runs"]
        assert wanted in [run["runId"] for run in runs]
        assert len(runs) == (2 if query[0] == "status" else 1)
    answer = await owner.get(f"{PLANE}/runs?datasetId=nonsense")
    assert (answer.status_code, answer.json()["details"][0]["field"]) == (400, "datasetId")


async def test_results_may_be_larger_than_other_bodies(owner: httpx.AsyncClient) -> None:
    run_id = await start_run(owner, await make_dataset(owner, 20))
    long = [result(f"q{at}", "", retrievalContext=["x" * 190_000]) for at in range(20)]
    assert (await post(owner, run_id, long))["accepted"] == 20
    huge = await owner.post(f"{PLANE}/runs/{run_id}/results", content=b"[" + b" " * 10_000_000 + b"]")
    assert (huge.status_code, huge.json()["code"]) == (413, "body_too_large")


async def test_deleted_dataset_is_gone_and_its_runs_stay(owner: httpx.AsyncClient) -> None:
    dataset = await make_dataset(owner)
    run_id = await start_run(owner, dataset)
    assert (await owner.delete(f"{PLANE}/datasets/{dataset}")).status_code == 204
    assert (await owner.get(f"{PLANE}/datasets/{dataset}")).status_code == 404
    assert (await owner.get(f"{PLANE}/datasets")).json()["datasets"] == []
    assert (await owner.get(f"{PLANE}/runs/{run_id}")).json()["datasetId"] == dataset


@pytest.mark.parametrize("wait", ["-1", "61", "soon"])
async def test_wait_has_bounds(owner: httpx.AsyncClient, wait: str) -> None:
    run_id = await start_run(owner, await make_dataset(owner))
    answer = await owner.post(
        f"{PLANE}/runs/{run_id}/results?wait={wait}", json={"results": [result("q0", "")]}
    )
    assert (answer.status_code, answer.json()["details"][0]["field"]) == (400, "wait")
