"""The metrics pages of API and worker, as Prometheus reads them."""

from __future__ import annotations

import asyncio
import dataclasses

import httpx
import pytest
from pydantic import SecretStr

from parley.server.api.operators_app import create_operators_app
from parley.server.config import DatabaseSettings, RedisSettings, TelemetrySettings
from parley.server.llm.demo import Hang, Rule, Say
from parley.server.telemetry import backlog
from tests.factories.accounts import bearer
from tests.factories.datasets import make_dataset, post, result, start_run
from tests.integration.telemetry.conftest import TOKEN, Page, scrape
from tests.stage import Stage, StageWorker, until


def page_url(worker: StageWorker, path: str = "/metrics") -> str:
    return f"http://127.0.0.1:{worker.worker.metrics_port}{path}"


async def worker_page(worker: StageWorker) -> Page:
    await until(lambda: worker.worker.metrics_port)
    return await scrape(page_url(worker))


async def api_page(stage: Stage) -> Page:
    app = create_operators_app(stage.services)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://admin.test") as client:
        assert (await client.get("/metrics")).status_code == 401
        answer = await client.get("/metrics", headers=bearer(TOKEN))
    assert answer.status_code == 200, answer.text
    return Page(answer.text)


async def test_run_is_counted_by_outcome_with_its_inferences_tokens_and_cost(stage: Stage) -> None:
    test_id = await stage.make_test(max_turns=2)
    async with stage.worker() as worker:
        run = await stage.finished(await stage.start(test_id))
        page = await worker_page(worker)
    assert run["state"] == "succeeded"
    assert page.value("parley_runs_ended_total", outcome=run["result"]["outcome"], code="") == 1
    assert page.value("parley_runs_claimed_total", how="given") == 1
    for role in ("user", "assistant", "judge"):
        assert page.value("parley_inferences_total", role=role, outcome="answered") == 2, role
        assert page.value("parley_inference_seconds_count", role=role) == 2
        assert page.value("parley_inference_first_piece_seconds_count", role=role) == 2
        assert page.value("parley_tokens_total", role=role, kind="completion") > 0
        assert page.value("parley_inferences_without_usage_total", role=role) == 0
    [charged] = await stage.rows(
        "SELECT sum(prompt_tokens)::int AS tokens FROM ledger WHERE role = 'assistant'"
    )
    assert page.value("parley_tokens_total", role="assistant", kind="prompt") == charged["tokens"]
    assert page.value("parley_inference_cost_usd_total", role="assistant") > 0


async def test_judge_of_a_posted_result_is_counted_like_any_other(stage: Stage) -> None:
    stage.play(Rule((Say("Hm."), Say('{"reasoning": "It answers.", "rating": 8}')), part="judge"))
    run_id = await start_run(stage.http, await make_dataset(stage.http, 1))
    async with stage.worker() as worker:
        await post(stage.http, run_id, [result("q0")], wait=10)
        page = await worker_page(worker)
    assert page.value("parley_inferences_total", role="judge", outcome="answered") == 2
    assert page.value("parley_tokens_total", role="judge", kind="completion") > 0
    assert page.value("parley_inference_cost_usd_total", role="judge") > 0


async def test_faults_and_stops_of_inferences_are_told_apart(stage: Stage) -> None:
    stage.play(Rule((Hang(0),), part="user"))
    path = await stage.start(await stage.make_test(max_turns=2))
    async with stage.worker() as worker:
        await until(lambda: stage.llms.stats.open)
        assert (await worker_page(worker)).value("parley_runs_held") == 1
        await stage.http.post(f"{path}/cancel")
        await stage.finished(path)
        page = await worker_page(worker)
    assert page.value("parley_inferences_total", role="user", outcome="stopped") == 1
    assert page.value("parley_runs_ended_total", outcome="cancelled") == 1
    assert page.value("parley_inference_seconds_count", role="user") == 0


async def test_run_cancelled_before_any_worker_had_it_is_counted_by_the_api(stage: Stage) -> None:
    path = await stage.start(await stage.make_test())
    assert (await stage.http.post(f"{path}/cancel")).status_code == 202
    assert (await api_page(stage)).value("parley_runs_ended_total", outcome="cancelled", code="") == 1


async def test_what_the_sweep_found_is_counted(stage: Stage) -> None:
    path = await stage.start(await stage.make_test(max_turns=2))
    await stage.rows("UPDATE runs SET admitted_at = now() - interval '1 minute'")
    elsewhere = stage.settings.redis.model_copy(update={"prefix": f"{stage.settings.redis.prefix}-other"})
    async with stage.worker(dataclasses.replace(stage.settings, redis=elsewhere)) as worker:
        await stage.finished(path)
        page = await worker_page(worker)
    assert page.value("parley_sweep_actions_total", action="taken") >= 1


async def test_backlog_is_told_by_state_with_its_ages(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "KEPT_S", 0)
    test_id = await stage.make_test()
    for _ in range(10):  # the plan has eight slots
        await stage.start(test_id)
    await stage.rows(
        "UPDATE runs SET created_at = now() - interval '100 s', admitted_at = admitted_at - interval '40 s'"
    )
    page = await api_page(stage)
    assert page.value("parley_runs_open", state="waiting") == 2
    assert page.value("parley_runs_open", state="admitted") == 8
    assert page.value("parley_runs_open", state="running") == 0
    assert page.value("parley_waiting_run_age_seconds") == pytest.approx(100, abs=20)
    assert page.value("parley_queue_age_seconds") == pytest.approx(40, abs=20)
    assert page.value("parley_admission_wait_seconds") == pytest.approx(60, abs=20)
    await stage.rows(
        "UPDATE runs SET state = 'running', lease_until = now() - interval '1 s'"
        " WHERE admitted_at IS NOT NULL"
    )
    page = await api_page(stage)
    assert page.value("parley_runs_open", state="running") == 8
    assert page.value("parley_runs_open", state="unheld") == 8
    assert page.value("parley_database_up") == page.value("parley_redis_up") == 1


async def test_many_scrapes_are_one_look(stage: Stage) -> None:
    page = stage.services.metrics_page
    assert page is not None
    looks = 0
    numbers = page.backlog._numbers

    async def counted() -> object:
        nonlocal looks
        looks += 1
        return await numbers()

    page.backlog._numbers = counted  # type: ignore[method-assign, assignment]
    await asyncio.gather(*(page.text() for _ in range(20)))
    assert looks == 1


async def test_stores_that_are_away_leave_a_page_that_says_so(stage: Stage, unused_tcp_port: int) -> None:
    away = dataclasses.replace(
        stage.settings,
        database=DatabaseSettings(url=SecretStr(f"postgresql://postgres@127.0.0.1:{unused_tcp_port}/x")),
        redis=RedisSettings(url=SecretStr(f"redis://127.0.0.1:{unused_tcp_port}/0")),
    )
    async with stage.worker(away) as worker:
        page = await worker_page(worker)
        async with httpx.AsyncClient(verify=False) as client:
            alive = await client.get(page_url(worker, "/livez"))
            ready = await client.get(page_url(worker, "/readyz"))
    assert page.value("parley_database_up") == page.value("parley_redis_up") == 0
    assert list(page.samples("parley_queue_age_seconds")) == [], "nothing is known, which is not nothing"
    assert alive.status_code == 200
    assert (ready.status_code, ready.json()["code"]) == (503, "database_unavailable")


async def test_worker_without_redis_is_ready_and_says_degraded(stage: Stage, unused_tcp_port: int) -> None:
    """C165: a bounded write and read decide, and a worker works on without the queue."""
    away = RedisSettings(url=SecretStr(f"redis://127.0.0.1:{unused_tcp_port}/0"))
    async with stage.worker(dataclasses.replace(stage.settings, redis=away)) as worker:
        await until(lambda: worker.worker.metrics_port)
        async with httpx.AsyncClient(verify=False) as client:
            ready = await client.get(page_url(worker, "/readyz"))
    assert (ready.status_code, ready.json()["data"]) == (200, {"database": "ready", "queue": "degraded"})


async def test_workers_page_wants_the_operators_token(stage: Stage) -> None:
    async with stage.worker() as worker:
        await until(lambda: worker.worker.metrics_port)
        async with httpx.AsyncClient(verify=False) as client:
            for headers in ({}, bearer("x" * 40), {"Authorization": TOKEN}, {"Authorization": "Bearer"}):
                answer = await client.get(page_url(worker), headers=headers)
                assert (answer.status_code, answer.json()["code"]) == (401, "operator_token_refused")


class TestUnwatched:
    """Nobody wants to see anything: nothing is wrapped and no port is opened."""

    @pytest.fixture
    def telemetry(self) -> TelemetrySettings:
        return TelemetrySettings()

    async def test_parties_and_bus_are_the_plain_ones(self, stage: Stage) -> None:
        plain = dataclasses.replace(stage.settings, admin=type(stage.settings.admin)())
        async with stage.worker(plain) as worker:
            assert worker.services.watch.metrics is None
            assert worker.services.metrics_page is None
            assert type(worker.services.bus).__name__ == "Publisher"
            assert worker.worker.metrics_port is None
