"""`check_target` against the scripted server."""

from __future__ import annotations

import pytest

from parley.server.llm.check import check_target
from parley.server.llm.demo.behaviours import Hang, Html, Raw, Say, Status, TaggedBehaviour
from parley.server.llm.demo.script import Rule
from parley.server.llm.demo.server import DemoServer
from parley.server.llm.endpoint import LlmEndpoint
from parley.server.llm.pool import LlmPool

PLAIN = b"""{"object": "chat.completion", "model": "plain-1", "choices": [
    {"index": 0, "message": {"role": "assistant", "content": "ready"}, "finish_reason": "stop"}]}"""


async def test_healthy_llm_is_described(pool: LlmPool, server: DemoServer) -> None:
    server.play(Rule((Say("ready"),)))
    report = await check_target(pool.operator_speaker(LlmEndpoint(base_url=server.base_url, model="m-1")))
    assert report.ok
    assert (report.streams, report.reports_usage, report.model) == (True, True, "m-1")
    assert report.first_piece_ms is not None
    assert 0 <= report.first_piece_ms <= report.latency_ms
    assert report.fault is None
    assert server.stats.requests == 1


async def test_missing_usage_and_missing_stream_are_told(pool: LlmPool, server: DemoServer) -> None:
    speaker = pool.operator_speaker(LlmEndpoint(base_url=server.base_url, model="m"))
    server.play(Rule((Say("ready", usage="absent"),)))
    assert (await check_target(speaker)).reports_usage is False
    server.play(Rule((Raw(PLAIN, content_type="application/json"),)))
    report = await check_target(speaker)
    assert (report.ok, report.streams, report.model) == (True, False, "plain-1")


@pytest.mark.parametrize(
    ("answer", "code", "status", "advice"),
    [
        (Status(401), "request_refused", 401, "Check the key"),
        (Status(404), "request_refused", 404, "Check the address, which ends before /chat/completions"),
        (Status(503), "http_error", 503, "its log"),
        (Status(429), "rate_limited", 429, "credit"),
        (Html(), "not_a_stream", 200, "/v1"),
    ],
)
async def test_fault_comes_with_what_to_do(
    pool: LlmPool, server: DemoServer, answer: TaggedBehaviour, code: str, status: int, advice: str
) -> None:
    server.play(Rule((answer,)))
    report = await check_target(pool.operator_speaker(LlmEndpoint(base_url=server.base_url, model="m")))
    assert not report.ok
    assert (report.code, report.status) == (code, status)
    assert report.fault is not None
    assert report.fault[0].isupper()
    assert advice in report.fault
    assert server.stats.requests == 1


async def test_silent_llm_is_given_up(pool: LlmPool, server: DemoServer) -> None:
    server.play(Rule((Hang(),)))
    speaker = pool.operator_speaker(LlmEndpoint(base_url=server.base_url, model="m"))
    report = await check_target(speaker, deadline_s=0.1)
    assert (report.ok, report.code) == (False, "inference_timeout")
    assert report.latency_ms >= 100
