"""`/api/v1/evaluations` and `/api/v1/gates`, as owner, stranger, public key and nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import httpx
import pytest

from parley.server.db.database import Database
from parley.server.evaluations import gate_call, scoring
from parley.server.kit.ids import new_id
from tests.factories.accounts import Tenant, make_key
from tests.factories.evaluations import Rating, evaluated, make_dataset, open_evaluation, score_of, stored

URL = "/api/v1/evaluations"
UNKNOWN = "01a22cd1-1c69-7435-8e3a-8a2be0d79950"


@pytest.fixture
async def dataset(database: Database, tenant: Tenant) -> UUID:
    return await make_dataset(database, tenant.scope)


@pytest.fixture
async def ask(client: httpx.AsyncClient, tenant: Tenant) -> Any:
    """GET as the owner: the data, or the whole answer of a refusal."""

    async def asked(path: str, wanted: int = 200, method: str = "GET", **query: Any) -> Any:
        answer = await client.request(method, path, headers=tenant.auth, params=query or None)
        assert answer.status_code == wanted, answer.text
        return answer.json()["data"] if wanted < 300 else answer.json()

    return asked


@pytest.fixture
def completed(database: Database, tenant: Tenant, dataset: UUID) -> Any:
    """Makes a completed evaluation from ratings."""

    async def made(ratings: Sequence[Rating | Sequence[Rating]], **fields: Any) -> UUID:
        return await evaluated(database, tenant.scope, dataset, ratings, **fields)

    return made


PATHS = [
    ("GET", "", 200),
    ("GET", "/{id}", 200),
    ("GET", "/{id}/results", 200),
    ("GET", "/{id}/compare?baseline={id}", 200),
    ("GET", "/{id}/gate", 200),
    ("GET", "/{id}/flips", 200),
    ("POST", "/{id}/gate", 200),
    ("POST", "/{id}/pin", 200),
    ("DELETE", "/{id}/pin", 204),
    ("POST", "/{id}/cancel", 200),
]


@pytest.mark.parametrize(("method", "path", "status"), PATHS)
async def test_owner_may_and_nobody_else(
    method: str,
    path: str,
    status: int,
    client: httpx.AsyncClient,
    tenant: Tenant,
    stranger: Tenant,
    database: Database,
    completed: Any,
) -> None:
    url = URL + path.format(id=await completed([9, 8]))
    reader = await make_key(database, tenant.account_id, scopes=["tests:read"])

    async def status_for(headers: dict[str, str]) -> int:
        return (await client.request(method, url, headers=headers)).status_code

    assert await status_for({}) == 401
    assert await status_for(tenant.public.auth) == 403
    assert await status_for(reader.auth) == (200 if method == "GET" else 403)
    assert await status_for(stranger.auth) == (200 if path == "" else 404)
    assert await status_for(tenant.auth) == status


async def test_strangers_lists_are_empty(client: httpx.AsyncClient, stranger: Tenant, completed: Any) -> None:
    await completed([9])
    for path in (URL, "/api/v1/gates"):
        assert (await client.get(path, headers=stranger.auth)).json()["data"] == []


async def test_unknown_ids_are_404(client: httpx.AsyncClient, tenant: Tenant) -> None:
    for path in ("", "/results", f"/results/{UNKNOWN}", "/gate", "/compare", "/flips"):
        for evaluation_id in (UNKNOWN, "nonsense"):
            answer = await client.get(f"{URL}/{evaluation_id}{path}", headers=tenant.auth)
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), path


async def test_evaluation_is_told_with_its_statistics(ask: Any, completed: Any, dataset: UUID) -> None:
    made = await completed([[9, 5], ["failed", 8], [None, 10]], commit="4f0c", branch="main", split="smoke")
    data = await ask(f"{URL}/{made}")
    assert (data["kind"], data["dataset_id"], data["suite_id"]) == ("custom", str(dataset), None)
    assert (data["state"], data["split"], data["commit"], data["branch"]) == (
        "completed",
        "smoke",
        "4f0c",
        "main",
    )
    statistics = data["statistics"]
    assert (statistics["expected_count"], statistics["rated_count"]) == (6, 4)
    assert (statistics["failed_count"], statistics["skipped_count"], statistics["pending_count"]) == (1, 1, 0)
    assert (statistics["coverage"], statistics["average_rating"]) == (0.8333, 6.4)
    assert statistics["pass_rate"]["value"] == 0.6
    assert statistics["flaky_cases"] == ["c0", "c1"]
    assert statistics["pass_at_k"] == [{"k": 1, "value": 0.6666}]
    assert statistics["duration_ms"] == {"p50": 200, "p95": 300}
    assert "too few" in statistics["smallest_difference"]["words"]
    [listed] = await ask(URL)
    assert listed == {key: value for key, value in data.items() if key not in ("grading", "options")}


async def test_list_is_filtered_and_paged(ask: Any, completed: Any, dataset: UUID) -> None:
    made = [str(await completed([9], branch=branch)) for branch in ("main", "side", "main")]
    assert [row["id"] for row in await ask(URL, branch="main")] == [made[2], made[0]]
    assert [row["id"] for row in await ask(URL, limit=1, offset=1)] == [made[1]]
    assert len(await ask(URL, dataset=str(dataset), state="completed")) == 3
    assert await ask(URL, dataset=UNKNOWN) == []
    for query in ({"dataset": "x"}, {"state": "x"}, {"branch": "\x00"}):
        assert (await ask(URL, 400, **query))["code"] == "invalid_request"


async def test_list_tells_pinned_baselines_from_others(ask: Any, completed: Any) -> None:
    made = [str(await completed([9], split=split)) for split in ("a", "b", "c")]
    await ask(f"{URL}/{made[1]}/pin", method="POST")
    assert [row["id"] for row in await ask(URL, pinned="true")] == [made[1]]
    assert [row["id"] for row in await ask(URL, pinned="false")] == [made[2], made[0]]
    assert (await ask(URL, 400, pinned="maybe"))["code"] == "invalid_request"


async def test_results_are_listed_in_the_order_of_the_cases(ask: Any, completed: Any) -> None:
    made = await completed([[9, 3], ["failed", None]])
    rows = await ask(f"{URL}/{made}/results")
    assert [
        (row["case_id"], row["repetition"], row["status"], row["rating"], row["passed"]) for row in rows
    ] == [
        ("c0", 1, "rated", 9.0, True),
        ("c0", 2, "rated", 3.0, False),
        ("c1", 1, "failed", 0.0, False),
        ("c1", 2, "skipped", None, None),
    ]
    assert rows[2]["error"] == {"type": "timeout", "message": "The agent took too long."}
    assert [row["repetition"] for row in await ask(f"{URL}/{made}/results", status="failed")] == [1]
    assert len(await ask(f"{URL}/{made}/results", case="c0", limit=1)) == 1
    detail = await ask(f"{URL}/{made}/results/{rows[0]['id']}")
    assert detail["transcript"] == {"output": {"text": "An answer."}}
    assert detail["content"] == {"query": "Question 0?"}
    assert "transcript" not in rows[0]
    other = await completed([1])
    assert (await ask(f"{URL}/{other}/results/{rows[0]['id']}", 404))["code"] == "not_found"


async def test_gate_answers_in_full(ask: Any, completed: Any, dataset: UUID) -> None:
    before, made = await completed([9, 8]), await completed([8, 8])
    data = await ask(f"{URL}/{made}/gate", failUnder="7", noRegression="true")
    assert data == {
        "evaluation_id": str(made),
        "dataset_id": str(dataset),
        "suite_id": None,
        "average_rating": 8.0,
        "result_count": 2,
        "rated_count": 2,
        "failed_count": 0,
        "skipped_count": 0,
        "coverage": 1.0,
        "baseline_id": str(before),
        "baseline_average": 8.5,
        "checks": [
            {
                "check": "fail-under",
                "passed": True,
                "threshold": 7.0,
                "actual": 8.0,
                "detail": "The mean rating 8 is at least 7.",
            },
            {
                "check": "no-regression",
                "passed": True,
                "threshold": 8.5,
                "actual": 8.0,
                "detail": "The mean fell by 0.5, within the tolerance of 0.5.",
            },
            {
                "check": "coverage",
                "passed": True,
                "threshold": 1.0,
                "actual": 1.0,
                "detail": "The coverage 1 is at least 1.",
            },
        ],
        "passed": True,
        "verdict": "passed",
        "first_run": False,
        "baseline": "latest",
        "note": "2 cases are too few to tell a real difference from chance.",
        "recorded": False,
        "gate_id": None,
    }


async def test_coverage_is_checked_here_unless_another_is_given(ask: Any, completed: Any) -> None:
    made = await completed([9, None])
    assert (await ask(f"{URL}/{made}/gate", failUnder="7"))["verdict"] == "failed"
    assert (await ask(f"{URL}/{made}/gate", failUnder="7", minCoverage="0.5"))["verdict"] == "passed"


async def test_first_run_passes_its_regression_checks_and_says_so(ask: Any, completed: Any) -> None:
    data = await ask(f"{URL}/{await completed([9])}/gate", noRegression="1")
    assert (data["first_run"], data["passed"], data["baseline_id"]) == (True, True, None)
    assert "no baseline" in data["checks"][0]["detail"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"failUnder": "11"}, "failUnder"),
        ({"fail_under": "7"}, "fail_under"),
        ({"tolerance": "1"}, "tolerance"),
        ({"failUnder": ["7", "8"]}, "failUnder"),
        ({"baseline": UNKNOWN}, "baseline"),
        ({"baseline": "newest"}, "baseline"),
        ({"caller": "x" * 61}, "caller"),
    ],
)
async def test_wrong_parameter_is_named(ask: Any, completed: Any, query: dict[str, Any], field: str) -> None:
    body = await ask(f"{URL}/{await completed([9])}/gate", 400, **query)
    assert body["details"][0]["field"] == field


async def test_foreign_and_unknown_baselines_are_refused_in_the_same_words(
    ask: Any, completed: Any, database: Database, stranger: Tenant
) -> None:
    foreign = await evaluated(database, stranger.scope, await make_dataset(database, stranger.scope), [9])
    made = await completed([9])
    for path in ("gate", "compare"):
        answers = [await ask(f"{URL}/{made}/{path}", 400, baseline=str(each)) for each in (foreign, UNKNOWN)]
        assert answers[0] == answers[1]


async def test_gate_of_an_open_evaluation_is_refused(
    ask: Any,
    completed: Any,
    database: Database,
    tenant: Tenant,
    dataset: UUID,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """C210: never true while results may still come."""
    monkeypatch.setattr(gate_call.called, "__defaults__", (0.0,))
    in_progress = await open_evaluation(database, tenant.scope, dataset)
    is_scored = await completed([9, "open"])
    for evaluation_id, state in ((in_progress, "in_progress"), (is_scored, "scoring")):
        body = await ask(f"{URL}/{evaluation_id}/gate", 409, failUnder="0")
        assert (body["code"], body["details"]) == ("evaluation_open", {"state": state})


async def test_gate_waits_for_the_last_score(
    ask: Any, completed: Any, database: Database, tenant: Tenant
) -> None:
    made = await completed([9, "open"])
    asking = asyncio.create_task(ask(f"{URL}/{made}/gate", failUnder="7"))
    await asyncio.sleep(0.05)
    rows = await ask(f"{URL}/{made}/results", status="pending")
    score = score_of(7)
    assert score is not None
    async with database.session() as session:
        await scoring.score(session, tenant.scope, made, UUID(rows[0]["id"]), score)
    assert (await asking)["average_rating"] == 8.0


async def test_gate_of_a_cancelled_evaluation_is_refused(
    ask: Any, database: Database, tenant: Tenant, dataset: UUID
) -> None:
    made = await open_evaluation(database, tenant.scope, dataset)
    assert (await ask(f"{URL}/{made}/cancel", 202, "POST"))["state"] == "cancelled"
    assert (await ask(f"{URL}/{made}/cancel", 200, "POST"))["state"] == "cancelled"
    assert (await ask(f"{URL}/{made}/gate", 409, failUnder="0"))["code"] == "evaluation_not_completed"


async def test_cancel_skips_what_waits_and_never_undoes_a_completed_one(ask: Any, completed: Any) -> None:
    waiting, done = await completed([9, "open"]), await completed([9])
    await ask(f"{URL}/{waiting}/cancel", 202, "POST")
    rows = await ask(f"{URL}/{waiting}/results")
    assert [(row["status"], row["error"] and row["error"]["type"]) for row in rows] == [
        ("rated", None),
        ("skipped", "cancelled"),
    ]
    assert (await ask(f"{URL}/{done}/cancel", 200, "POST"))["state"] == "completed"


async def test_record_is_kept_once_for_each_verdict_and_caller(ask: Any, completed: Any) -> None:
    made = await completed([5])
    query = {"failUnder": "7", "record": "true", "caller": "ci"}
    first, again = [await ask(f"{URL}/{made}/gate", **query) for _ in range(2)]
    assert (first["recorded"], first["gate_id"]) == (True, again["gate_id"])
    other = await ask(f"{URL}/{made}/gate", method="POST", failUnder="7", caller="me")
    green = await ask(f"{URL}/{made}/gate", method="POST", failUnder="1", caller="ci")
    assert len({each["gate_id"] for each in (first, other, green)}) == 3
    listed = await ask("/api/v1/gates")
    assert [row["id"] for row in listed] == [each["gate_id"] for each in (green, other, first)]
    assert listed[2]["answer"] == first
    assert listed[2]["parameters"] == query


async def test_recorded_gates_are_filtered(ask: Any, completed: Any, dataset: UUID) -> None:
    for rating, branch in ((9, "main"), (5, "side")):
        made = await completed([rating], branch=branch, commit=f"c{rating}")
        await ask(f"{URL}/{made}/gate", method="POST", failUnder="7", caller="ci")
    for query, count in (
        ({"verdict": "failed"}, 1),
        ({"branch": "main"}, 1),
        ({"commit": "c5"}, 1),
        ({"caller": "ci"}, 2),
        ({"caller": "me"}, 0),
        ({"dataset": str(dataset)}, 2),
        ({"suite": UNKNOWN}, 0),
    ):
        assert len(await ask("/api/v1/gates", **query)) == count, query


async def test_gate_is_posted_with_a_body_and_a_key(
    client: httpx.AsyncClient, tenant: Tenant, completed: Any
) -> None:
    url = f"{URL}/{await completed([5])}/gate"
    headers = {**tenant.auth, "Idempotency-Key": "build 7"}
    body = {"failUnder": 7.5, "noRegression": True, "caller": "ci"}
    first = await client.post(url, headers=headers, json=body)
    assert first.status_code == 200, first.text
    assert first.json()["data"]["checks"][0]["threshold"] == 7.5
    assert (await client.post(url, headers=headers, json=body)).json() == first.json()
    other = await client.post(url, headers=headers, json={**body, "failUnder": 1})
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    for wrong in ({"failUnder": [7]}, [7], {"failUnder": None}):
        assert (await client.post(url, headers=tenant.auth, json=wrong)).status_code == 400


async def test_recording_by_get_wants_the_scope_for_it(
    client: httpx.AsyncClient, tenant: Tenant, database: Database, completed: Any
) -> None:
    reader = await make_key(database, tenant.account_id, scopes=["tests:read"])
    url = f"{URL}/{await completed([9])}/gate?failUnder=7&record=1"
    answer = await client.get(url, headers=reader.auth)
    assert (answer.status_code, answer.json()["code"]) == (403, "scope_missing")


async def test_pinned_baseline_does_not_move(ask: Any, completed: Any) -> None:
    made = pinned = await completed([9])
    assert (await ask(f"{URL}/{pinned}/pin", 200, "POST"))["pinned"] is True
    verdicts = []
    for rating in ("8.6", "8.2", "7.8"):
        made = await completed([rating])
        query = {"noRegression": "1"}
        verdicts.append(
            [
                (await ask(f"{URL}/{made}/gate", **query, baseline=each))["verdict"]
                for each in ("latest", "pinned")
            ]
        )
    assert verdicts == [["passed", "passed"], ["passed", "failed"], ["passed", "failed"]]
    assert (await ask(f"{URL}/{made}/pin", 200, "POST"))["pinned"] is True
    assert (await ask(f"{URL}/{pinned}"))["pinned"] is False
    own = await ask(f"{URL}/{made}/gate", noRegression="1", baseline="pinned")
    assert own["first_run"] is True
    assert "is this evaluation itself" in own["checks"][0]["detail"]


async def test_without_a_pin_the_regression_checks_pass_and_say_so(ask: Any, completed: Any) -> None:
    await completed([9])
    data = await ask(f"{URL}/{await completed([1])}/gate", noRegression="1", baseline="pinned")
    assert (data["first_run"], data["passed"]) == (True, True)
    assert "Nothing is pinned" in data["checks"][0]["detail"]


@pytest.mark.parametrize(
    ("ratings", "fields", "reason"),
    [
        ([None], {}, "has no rated result"),
        ([9], {"run_source": "trace-eval"}, "comes from live traffic (trace-eval)"),
        ([9, "open"], {}, "did not complete"),
    ],
)
async def test_what_cannot_be_a_baseline_is_not_pinned(
    ask: Any, completed: Any, ratings: list[Rating], fields: dict[str, Any], reason: str
) -> None:
    made = await completed(ratings, **fields)
    body = await ask(f"{URL}/{made}/pin", 409, "POST")
    assert body["code"] == "not_a_baseline"
    assert reason in body["error"]


async def test_failing_evaluation_is_no_baseline_under_latest_passing(ask: Any, completed: Any) -> None:
    good = await completed([9])
    await completed([5])
    made, data = await completed([5]), {}
    for baseline, verdict, measured in (("latest", "passed", 5.0), ("latest-passing", "failed", 9.0)):
        data = await ask(f"{URL}/{made}/gate", noRegression="1", baseline=baseline)
        assert (data["verdict"], data["baseline_average"]) == (verdict, measured)
    assert data["baseline_id"] == str(good)


async def test_recorded_verdict_decides_what_passed(ask: Any, completed: Any) -> None:
    await completed([9])
    lowered = await completed([5])
    await ask(f"{URL}/{lowered}/gate", method="POST", failUnder="4")
    data = await ask(f"{URL}/{await completed([5])}/gate", noRegression="1", baseline="latest-passing")
    assert (data["verdict"], data["baseline_id"]) == ("passed", str(lowered))


async def test_later_record_changes_no_earlier_answer(ask: Any, completed: Any) -> None:
    await completed([9])
    lowered, made = await completed([5]), await completed([5])
    path, query = f"{URL}/{made}/gate", {"noRegression": "1", "baseline": "latest-passing"}
    before = await ask(path, **query)
    await ask(f"{URL}/{lowered}/gate", method="POST", failUnder="4")
    assert await ask(path, **query) == before


async def test_latest_baseline_is_fixed_on_completion(ask: Any, completed: Any) -> None:
    """C211: asking again, after newer evaluations, gives the same baseline."""
    first, second = await completed([9]), await completed([8])
    before = await ask(f"{URL}/{second}/gate", noRegression="1")
    await completed([1])
    assert await ask(f"{URL}/{second}/gate", noRegression="1") == before
    assert before["baseline_id"] == str(first)


@pytest.mark.parametrize(
    "fields",
    [{"grading": {"criteria": "Another."}}, {"split": "smoke"}, {"run_source": "trace-eval"}],
    ids=["grader", "split", "live traffic"],
)
async def test_other_lines_give_no_baseline(ask: Any, completed: Any, fields: dict[str, Any]) -> None:
    """C205."""
    other = await completed([9], **fields)
    made = await completed([1])
    assert (await ask(f"{URL}/{made}/gate", noRegression="1"))["first_run"] is True
    body = await ask(f"{URL}/{made}/gate", 400, noRegression="1", baseline=str(other))
    assert body["details"][0]["field"] == "baseline"
    assert "cannot be used: it" in body["error"]


async def test_comparison_tells_case_by_case(ask: Any, completed: Any) -> None:
    before, made = await completed([9, 5, 8, 8]), await completed([9, 9, 2, None])
    data = await ask(f"{URL}/{made}/compare")
    assert (data["baseline_id"], data["comparable"]) == (str(before), True)
    assert [case["class"] for case in data["cases"]] == ["unchanged", "improved", "regressed", "inconclusive"]
    assert data["counts"]["regressed"] == 1
    assert (data["delta"], data["paired_count"], data["changed_count"]) == (-0.67, 3, 2)
    assert data["interval"]["low"] <= data["delta"] <= data["interval"]["high"]
    assert data["verdicts"] == {"fell": 1, "rose": 1, "p_value": 1.0}
    assert "The mean fell by 0.67 over 3 paired cases" in data["words"]
    assert await ask(f"{URL}/{made}/compare", baseline=str(before)) == data


async def test_comparison_refuses_and_says_what_differs(ask: Any, completed: Any) -> None:
    other = await completed([9], grading={"criteria": "Another."})
    data = await ask(f"{URL}/{await completed([1])}/compare", baseline=str(other))
    assert (data["comparable"], data["delta"], data["p_value"]) == (False, None, None)
    assert [each["what"] for each in data["differences"]] == ["grader", "cases"]


async def test_comparison_wants_two_that_have_ended(ask: Any, completed: Any) -> None:
    done, waiting = await completed([9]), await completed(["open"])
    assert (await ask(f"{URL}/{done}/compare", 409, baseline=str(waiting)))["code"] == "evaluation_open"
    assert (await ask(f"{URL}/{done}/compare", 400))["details"][0]["field"] == "baseline"
    assert (await ask(f"{URL}/{done}/compare", 400, baseline="x"))["details"][0]["field"] == "baseline"


async def test_preview_asks_what_the_last_gate_asked(ask: Any, completed: Any, dataset: UUID) -> None:
    query = {"dataset": str(dataset)}
    assert (await ask("/api/v1/gates/preview", 404, **query))["code"] == "not_found"
    made = await completed([9])
    await ask(f"{URL}/{made}/gate", method="POST", failUnder="8", caller="ci")
    newest = await completed([7])
    data = await ask("/api/v1/gates/preview", **query)
    assert (data["evaluation_id"], data["verdict"], data["recorded"]) == (str(newest), "failed", False)
    assert [check["check"] for check in data["checks"]] == ["fail-under", "coverage"]
    assert (await ask("/api/v1/gates/preview", **query, failUnder="7"))["verdict"] == "passed"
    for wrong in ({}, {**query, "suite": UNKNOWN}):
        assert (await ask("/api/v1/gates/preview", 400, **wrong))["code"] == "invalid_request"


async def test_nothing_is_regraded_without_a_grader_or_a_transcript(
    client: httpx.AsyncClient, tenant: Tenant, completed: Any
) -> None:
    answer = await client.post(f"{URL}/{await completed(['failed'])}/regrade", headers=tenant.auth, json={})
    assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_regrade")


async def test_nothing_is_regraded_by_criteria_that_nobody_sees(
    client: httpx.AsyncClient, tenant: Tenant, completed: Any
) -> None:
    address = f"{URL}/{await completed([9])}/regrade"
    answer = await client.post(address, headers=tenant.auth, json={"criteria": "\u200b \u3164"})
    assert (answer.status_code, answer.json()["details"][0]["field"]) == (400, "criteria")


async def test_row_of_a_completed_evaluation_keeps_what_lists_need(
    completed: Any, database: Database, tenant: Tenant
) -> None:
    row = await stored(database, tenant.scope, await completed([9, "failed"]))
    assert (row.state, row.rated_count) == ("completed", 1)
    assert row.completed_at == row.ended_at
    assert new_id() != row.id
