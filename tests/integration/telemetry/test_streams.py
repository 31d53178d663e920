"""Open event streams: counted, bounded, and let go again; requests and log lines that tell whose they are."""

from __future__ import annotations

import dataclasses
import json
import logging

import httpx
import pytest

from parley.server.api.operators_app import create_operators_app
from parley.server.api.streams import RETRY_AFTER_S
from parley.server.config import ApiSettings, Settings, TelemetrySettings
from parley.server.llm.demo import Hang, Rule
from tests.factories.accounts import bearer
from tests.integration.telemetry.conftest import TOKEN, Page
from tests.stage import DIRECT, GOAL, Stage, until


@pytest.fixture
def stage_settings(stage_settings: Settings) -> Settings:
    """One stream of each kind."""
    api = ApiSettings(
        port=0, key_cache_s=0, requests_per_minute=0, shutdown_grace_s=2, direct_streams=1, event_streams=1
    )
    return dataclasses.replace(stage_settings, api=api)


async def page_of(stage: Stage) -> Page:
    transport = httpx.ASGITransport(create_operators_app(stage.services))
    async with httpx.AsyncClient(transport=transport, base_url="http://admin.test") as client:
        return Page((await client.get("/metrics", headers=bearer(TOKEN))).text)


async def test_direct_evaluation_beyond_the_bound_is_503_and_takes_no_slot(stage: Stage) -> None:
    stage.play(Rule((Hang(2),), part="assistant"))
    body = {"model": stage.gateway["slug"], "goal": GOAL}
    async with stage.evaluating() as (reading, _):
        assert reading.status == 200
        for path in (DIRECT, "/api/v1/generations/validations"):
            refused = await stage.http.post(path, json=body)
            assert (refused.status_code, refused.json()["code"]) == (503, "streams_exhausted")
            assert refused.headers["retry-after"] == str(RETRY_AFTER_S)
            assert refused.json()["details"] == {"limit": 1}
        [held] = await stage.rows("SELECT count(*) AS slots FROM direct_calls")
        assert held["slots"] == 1
        page = await page_of(stage)
    assert page.value("parley_streams_open", kind="direct") == 1
    assert page.value("parley_streams_refused_total", kind="direct") == 2
    assert page.value("parley_direct_evaluations_open") == 1


async def test_place_of_a_stream_that_ended_is_free(stage: Stage) -> None:
    for _ in range(3):
        assert (await stage.evaluated(max_turns=2)).frames[-1].type == "chat.validation.end"
        await until(lambda: no_stream_is_open(stage))
    assert (await page_of(stage)).value("parley_direct_evaluations_ended_total", code="") == 3


async def no_stream_is_open(stage: Stage) -> bool:
    return (await page_of(stage)).value("parley_streams_open", kind="direct") == 0


async def test_place_of_a_caller_who_left_is_free(stage: Stage) -> None:
    stage.play(Rule((Hang(2),), part="assistant"))
    async with stage.evaluating() as (reading, _):
        assert reading.status == 200

    async def is_free() -> bool:
        answer = await stage.http.post(DIRECT, json={"model": "none", "goal": GOAL})
        return answer.status_code == 400

    await until(is_free)


async def test_watchers_are_bounded_apart_from_direct_evaluations(stage: Stage) -> None:
    path = await stage.start(await stage.make_test())
    async with stage.watching(path) as (reading, _):
        assert reading.status == 200
        refused = await stage.http.get(f"{path}/events")
        assert (refused.status_code, refused.json()["code"]) == (503, "streams_exhausted")
        assert (await stage.http.get(path)).status_code == 200
        assert (await stage.evaluated(max_turns=2)).status == 200


async def test_requests_are_counted_by_route_not_by_id(stage: Stage) -> None:
    await stage.read(f"/api/v1/agentic-tests/{await stage.make_test()}")
    for path in ("/api/v1/agentic-tests/none", "/api/v1/no-such-thing/7"):
        assert (await stage.http.get(path)).status_code == 404
    page = await page_of(stage)
    routes = {labels["route"] for labels, _ in page.samples("parley_http_requests_total")} - {"none"}
    assert routes
    assert not any("none" in route or "7" in route for route in routes)
    assert page.value("parley_http_requests_total", method="GET", status="404", route="none") == 1
    found = [
        (labels["route"], value)
        for labels, value in page.samples("parley_http_requests_total")
        if labels["method"] == "GET" and labels["status"] == "200"
    ]
    assert len(found) == 1
    assert "{" in found[0][0]


async def test_log_lines_tell_request_account_and_run(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    await stage.start(await stage.make_test(max_turns=2))
    lines = [json.loads(line) for line in caplog.messages if line.startswith("{")]
    [asked] = [line for line in lines if line["event"] == "request" and line["path"].endswith("/runs")]
    assert asked["account_id"] == str(stage.tenant.account_id)
    assert len(asked["request_id"]) == 36


@pytest.fixture
def telemetry() -> TelemetrySettings:
    return TelemetrySettings(metrics_port=0)
