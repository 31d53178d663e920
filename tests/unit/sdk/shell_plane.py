"""The shell plane and the evaluations beside it, as the reference describes them, in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import httpx

PLANE = "/api/v1/custom-agent-evaluations"
NOW = "2026-11-30T10:00:00Z"
RUN = "0199f0c4-0000-7000-8000-000000000001"
DATASET = "0199f0c4-0000-7000-8000-000000000002"


class ShellPlane:
    """One dataset of `cases` cases and one run; every answer that is not an error is rated 9."""

    def __init__(self, cases: int = 5, repetitions: int = 1) -> None:
        self.version = 1
        self.pinned_version = 1
        self.questions = [
            {
                "id": f"q{n}",
                "index": n,
                "main_question": {"query": f"Question {n}?"},
                "follow_up_questions": [],
            }
            for n in range(cases)
        ]
        self.repetitions = repetitions
        self.results: dict[str, dict[str, Any]] = {}
        self.batches: list[list[str]] = []
        self.started: dict[str, Any] = {}
        self.polls_until_scored = 1
        self.refuse: Callable[[dict[str, Any]], bool] = lambda _: False
        self.before_post: Callable[[], httpx.Response | None] = lambda: None
        self.gate_asked: list[dict[str, str]] = []
        self.verdict = "passed"

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answers one request."""
        path = request.url.path
        body = json.loads(request.content) if request.content else {}
        for method, pattern, answer in self._routes():
            if request.method == method and re.fullmatch(pattern, path):
                return answer(request, body)
        return httpx.Response(
            404, json={"error": "There is no such resource.", "code": "not_found", "details": None}
        )

    def _routes(self) -> list[tuple[str, str, Callable[[httpx.Request, Any], httpx.Response]]]:
        run = f"{PLANE}/runs/{RUN}"
        evaluation = f"/api/v1/evaluations/{RUN}"
        return [
            ("GET", f"{PLANE}/datasets", self._datasets),
            ("GET", f"{PLANE}/datasets/{DATASET}", self._dataset),
            ("POST", f"{PLANE}/runs", self._start),
            ("GET", run, self._run),
            ("GET", f"{run}/missing-results", self._missing),
            ("POST", f"{run}/results", self._post),
            ("POST", f"{run}/finalize", self._finalize),
            ("GET", evaluation, self._evaluation),
            ("GET", f"{evaluation}/results", self._case_results),
            ("GET", f"{evaluation}/gate", self._gate),
        ]

    def _datasets(self, _: httpx.Request, __: Any) -> httpx.Response:
        page = {"limit": 100, "offset": 0, "hasMore": False, "nextCursor": None}
        return httpx.Response(200, json={"datasets": [self._head()], "page": page})

    def _head(self) -> dict[str, Any]:
        return {"id": DATASET, "_id": DATASET, "name": "Support", "version": self.version}

    def _dataset(self, _: httpx.Request, __: Any) -> httpx.Response:
        return httpx.Response(200, json={**self._head(), "questions": self.questions})

    def _start(self, _: httpx.Request, body: Any) -> httpx.Response:
        self.started = body
        return httpx.Response(201, json=self._facts())

    def _run(self, _: httpx.Request, __: Any) -> httpx.Response:
        return httpx.Response(200, json=self._facts())

    def _facts(self) -> dict[str, Any]:
        facts = {"runId": RUN, "datasetId": DATASET, "status": "in_progress"}
        return facts | {"datasetVersion": self.pinned_version}

    def _missing(self, _: httpx.Request, __: Any) -> httpx.Response:
        owed = [
            {"caseId": one["id"], "questionIndex": one["index"], "runNumber": n}
            for one in self.questions
            for n in range(1, self.repetitions + 1)
            if f"{one['id']}/{n}" not in self.results
        ]
        return httpx.Response(200, json={"runId": RUN, "missing": owed})

    def _post(self, _: httpx.Request, body: Any) -> httpx.Response:
        if (stopped := self.before_post()) is not None:
            return stopped
        taken = [one for one in body["results"] if not self.refuse(one)]
        new = [one for one in taken if one["idempotencyKey"] not in self.results]
        self.results |= {one["idempotencyKey"]: one for one in new}
        self.batches.append([one["idempotencyKey"] for one in body["results"]])
        refused = [
            {
                "index": n,
                "idempotencyKey": one["idempotencyKey"],
                "problems": [{"field": "output", "problem": "no"}],
            }
            for n, one in enumerate(body["results"])
            if one not in taken
        ]
        answer = {"runId": RUN, "batchId": body["batchId"], "accepted": len(new), "scoredResults": []}
        return httpx.Response(
            200, json=answer | {"duplicates": len(taken) - len(new), "failedValidation": refused}
        )

    def _finalize(self, _: httpx.Request, __: Any) -> httpx.Response:
        self.polls_until_scored -= 1
        status = "completed" if self.polls_until_scored <= 0 else "scoring"
        return httpx.Response(200, json={"runId": RUN, "status": status, "missingCases": []})

    def _evaluation(self, _: httpx.Request, __: Any) -> httpx.Response:
        return _data(
            {
                "id": RUN,
                "kind": "custom",
                "name": "Support",
                "state": "completed",
                "repetitions": self.repetitions,
                "created_at": NOW,
                "statistics": {
                    "expected_count": len(self.questions) * self.repetitions,
                    "result_count": len(self.results),
                    "rated_count": sum("output" in one for one in self.results.values()),
                    "failed_count": sum("error" in one for one in self.results.values()),
                    "skipped_count": 0,
                    "coverage": 1.0,
                    "average_rating": 7.5,
                    "pass_rate": {"value": 0.8, "low": 0.4, "high": 0.9, "level": 0.95},
                    "flaky_cases": [],
                    "cost": 0.01,
                },
            }
        )

    def _case_results(self, request: httpx.Request, _: Any) -> httpx.Response:
        all_of_them = [self._case_result(one) for one in self.results.values()]
        offset = int(request.url.params.get("offset", 0))
        part = all_of_them[offset : offset + 3]
        more = offset + len(part) < len(all_of_them)
        page = {"limit": 3, "offset": offset, "has_more": more, "next_cursor": None}
        return httpx.Response(200, json={"message": None, "data": part, "page": page})

    def _case_result(self, one: dict[str, Any]) -> dict[str, Any]:
        failed = "error" in one
        return {
            "id": one["idempotencyKey"],
            "case_id": one["caseId"],
            "index": int(one["caseId"][1:]),
            "name": f"Question {one['caseId'][1:]}?",
            "repetition": one["runNumber"],
            "kind": "custom",
            "status": "failed" if failed else "rated",
            "rating": 0 if failed else 9,
            "passed": not failed,
            "justification": None if failed else "Good.",
            "error": one.get("error"),
            "duration_ms": one["timings"]["durationMs"],
        }

    def _gate(self, request: httpx.Request, _: Any) -> httpx.Response:
        self.gate_asked.append(dict(request.url.params))
        passed = {"passed": True, "failed": False, "inconclusive": None}[self.verdict]
        check = {
            "check": "fail-under",
            "passed": passed,
            "threshold": 7,
            "actual": 7.5,
            "detail": "The mean is 7.5.",
        }
        return _data(
            {
                "evaluation_id": RUN,
                "verdict": self.verdict,
                "passed": self.verdict == "passed",
                "checks": [check],
                "average_rating": 7.5,
                "coverage": 1.0,
                "baseline_id": None,
                "baseline_average": None,
                "first_run": True,
                "note": "With 5 cases like these, a fall of 1.9 would be noticed.",
                "recorded": "record" in request.url.params,
            }
        )


def _data(value: Any) -> httpx.Response:
    return httpx.Response(200, json={"message": None, "data": value})
