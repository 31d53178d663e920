"""Datasets, runs and results as a pipeline makes them, over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx

PLANE = "/api/v1/custom-agent-evaluations"


def question(number: int, **fields: Any) -> dict[str, Any]:
    """A case q0, q1, ...; `fields` go into its main question."""
    return {
        "id": f"q{number}",
        "main_question": {"query": f"Question {number}?", "expectedResults": f"Answer {number}.", **fields},
    }


async def make(client: httpx.AsyncClient, path: str, body: Any, **query: Any) -> dict[str, Any]:
    """POST, which has to succeed."""
    answer = await client.post(f"{PLANE}{path}", json=body, params=query or None)
    assert answer.status_code in (200, 201), answer.text
    made: dict[str, Any] = answer.json()
    return made


async def make_dataset(
    client: httpx.AsyncClient, questions: Sequence[dict[str, Any]] | int = 2, **fields: Any
) -> str:
    """A dataset; gives its id."""
    cases = [question(number) for number in range(questions)] if isinstance(questions, int) else questions
    made = await make(client, "/datasets", {"name": "Support", "questions": list(cases), **fields})
    return str(made["id"])


async def start_run(client: httpx.AsyncClient, dataset_id: str, **fields: Any) -> str:
    """A run; gives its id."""
    return str((await make(client, "/runs", {"datasetId": dataset_id, **fields}))["runId"])


def result(
    case_id: str, text: str | None = "Answer 0.", run_number: int = 1, **fields: Any
) -> dict[str, Any]:
    """A result of a case; without a text it has no output."""
    output = {} if text is None else {"output": {"text": text}}
    key = {"idempotencyKey": f"{case_id}/{run_number}", "caseId": case_id, "runNumber": run_number}
    return {**key, **output, **fields}


async def post(
    client: httpx.AsyncClient, run_id: str, results: Sequence[Any], wait: int = 0, batch: str = "b-1"
) -> dict[str, Any]:
    """Post a batch."""
    body = {"batchId": batch, "results": list(results)}
    return await make(client, f"/runs/{run_id}/results", body, wait=wait)
