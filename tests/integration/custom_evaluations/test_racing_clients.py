"""Eight clients post one run's results, again and again, cut off in the middle; workers die meanwhile."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from parley.server.config import Settings, WorkerSettings
from parley.server.llm.demo import Rule, Say
from tests.factories.datasets import PLANE, make, make_dataset, question, result, start_run
from tests.stage import Stage, client_of, hurried

CLIENTS = 8
BATCH = 100
ODD = "I would rather not say."
"""What a judge cannot be read about."""
EVERY_ODD = 97
SIZES = [
    pytest.param(100, 20, marks=pytest.mark.timeout(600), id="2000"),
    pytest.param(500, 20, marks=[pytest.mark.long, pytest.mark.timeout(1_800)], id="10000"),
]


@pytest.fixture
def stage_settings(settings: Settings) -> Settings:
    """Leases that a crowded loop does not lose by itself: the service and all its clients share one here."""
    worker = WorkerSettings(lease_s=10, heartbeat_s=1, tick_s=0.2, shutdown_grace_s=5)
    return dataclasses.replace(hurried(settings), worker=worker)


def results_of(cases: int, repetitions: int) -> list[dict[str, Any]]:
    """Every result of the run; some of which no judge makes anything."""
    places = [(case, number) for case in range(cases) for number in range(1, repetitions + 1)]
    return [
        result(f"q{case}", ODD if at % EVERY_ODD == 0 else f"Answer {at}.", number)
        for at, (case, number) in enumerate(places)
    ]


async def send(http: httpx.AsyncClient, run_id: str, batch: Sequence[Any], patience_s: float) -> int:
    """Post a batch until it is answered, giving up the first try after `patience_s`; what was accepted."""
    body = {"batchId": "b", "results": list(batch)}
    while True:
        try:
            async with asyncio.timeout(patience_s):
                answer = await http.post(f"{PLANE}/runs/{run_id}/results?wait=0", json=body)
        except (TimeoutError, httpx.TransportError):  # cut off, by us or by the wire: it is sent again
            patience_s = 120
            continue
        if answer.status_code == 503:  # a crowded service says so, and a pipeline sends the batch again
            await asyncio.sleep(0.5)
            continue
        assert answer.status_code == 200, answer.text
        assert answer.json()["failedValidation"] == []
        accepted: int = answer.json()["accepted"]
        return accepted


async def client(stage: Stage, run_id: str, batches: Sequence[Sequence[Any]], seed: int) -> None:
    """One pipeline: all batches in an order of its own, some of them cut off and sent again."""
    chance = random.Random(seed)
    async with client_of(stage.url, stage.tenant.auth) as http:
        http.timeout = httpx.Timeout(120)
        # Each batch comes from one client, the eighth part of them from all.
        mine = [batch for at, batch in enumerate(batches) if at % 8 == 0 or at % CLIENTS == seed]
        for batch in chance.sample(mine, len(mine)):
            is_cut = chance.random() < 0.3
            await send(http, run_id, batch, chance.uniform(0.005, 0.2) if is_cut else 120)


@pytest.mark.parametrize(("cases", "repetitions"), SIZES)
async def test_each_result_is_kept_once_and_judged_once(stage: Stage, cases: int, repetitions: int) -> None:
    rating = Say('{"reasoning": "It answers.", "rating": 8}', chunks=1)
    stage.http.timeout = httpx.Timeout(120)
    stage.play(Rule((Say("Hm."),), part="judge", contains=ODD), Rule((rating,), part="judge"))
    dataset = await make_dataset(stage.http, [question(at) for at in range(cases)])
    run_id = await start_run(stage.http, dataset, repetitions=repetitions)
    everything = results_of(cases, repetitions)
    size = min(BATCH, len(everything) // CLIENTS)
    batches = [everything[at : at + size] for at in range(0, len(everything), size)]
    async with stage.worker() as first:
        posting = asyncio.gather(*(client(stage, run_id, batches, seed) for seed in range(CLIENTS)))
        await asyncio.sleep(1)
        await first.kill()
        async with stage.worker(), stage.worker():
            await posting
            status = ""
            while status != "completed":
                status = (await make(stage.http, f"/runs/{run_id}/finalize", {"wait": 5}))["status"]
    odd = len(range(0, len(everything), EVERY_ODD))
    [told] = await stage.rows(_TOLD)
    assert told["rows"] == told["keys"] == told["places"] == len(everything)
    counts = (told["rated"], told["skipped"], told["zero"])
    assert counts == (len(everything) - odd, odd, 0), await stage.rows(_SKIPPED)
    assert (told["charges"], told["charged"]) == (len(everything) - odd + 3 * odd, len(everything))
    assert told["cost"] == told["ledger"] == told["of_evaluation"]
    statistics = (await stage.http.get(f"{PLANE}/runs/{run_id}")).json()["liveStatistics"]
    assert (statistics["ratedCount"], statistics["averageRating"]) == (len(everything) - odd, 8)


_SKIPPED = """
SELECT error->>'type' AS type, error->>'message' AS message, count(*) FROM case_results
 WHERE status = 'skipped' GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 5
"""
_TOLD = """
SELECT count(*) AS rows, count(DISTINCT idempotency_key) AS keys,
       count(DISTINCT (case_id, repetition)) AS places,
       count(*) FILTER (WHERE status = 'rated' AND rating = 8) AS rated,
       count(*) FILTER (WHERE status = 'skipped' AND rating IS NULL) AS skipped,
       count(*) FILTER (WHERE rating = 0) AS zero, sum(cost) AS cost,
       (SELECT count(*) FROM ledger WHERE source = 'evaluation') AS charges,
       (SELECT count(DISTINCT source_id) FROM ledger WHERE source = 'evaluation') AS charged,
       (SELECT -sum(amount) FROM ledger WHERE source = 'evaluation') AS ledger,
       (SELECT sum(cost) FROM evaluations) AS of_evaluation
  FROM case_results
"""
