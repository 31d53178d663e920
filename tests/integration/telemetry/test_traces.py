"""Traces as a collector gets them, and what the system under test is told of them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from pydantic import SecretStr

from parley.server.config import TelemetrySettings
from parley.server.llm.demo import Hang, Rule
from parley.server.llm.demo import Status as Answers
from tests.integration.telemetry.conftest import Collector, facts
from tests.receivers import receiving
from tests.stage import Stage, until

FIELDS: dict[str, Any] = {"seed": 7, "max_turns": 2}


@pytest.fixture
def telemetry(collector: Collector) -> TelemetrySettings:
    return TelemetrySettings(
        otlp_url=collector.url, otlp_headers=SecretStr("x-team=quality, authorization=Basic abc=")
    )


def named(spans: list[Span], name: str) -> list[Span]:
    return [span for span in spans if span.name == name]


async def finished(stage: Stage, **fields: Any) -> dict[str, Any]:
    async with stage.worker():
        return await stage.finished(await stage.start(await stage.make_test(**FIELDS | fields)))


async def test_run_is_one_trace_whose_id_is_the_runs(stage: Stage, collector: Collector) -> None:
    run = await finished(stage)
    [root] = named(collector.spans, "invoke_workflow agentic test")
    assert root.trace_id.hex() == UUID(run["id"]).hex
    assert root.parent_span_id == b""
    assert facts(root) == {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "agentic test",
        "gen_ai.conversation.id": run["id"],
        "parley.account.id": str(stage.tenant.account_id),
        "parley.test.id": run["test_id"],
        "parley.run.taken_over": False,
        "parley.run.outcome": run["result"]["outcome"],
    }
    others = [span for span in collector.spans if span is not root and span.name != root.name]
    assert {span.parent_span_id for span in others} == {root.span_id}
    assert {span.trace_id for span in others} == {root.trace_id}
    opinions = [event.name for event in root.events]
    assert opinions == ["gen_ai.evaluation.result"] * 2
    assert set(collector.paths) == {"/v1/traces"}
    assert collector.headers[0]["x-team"] == "quality"
    assert collector.headers[0]["authorization"] == "Basic abc="


async def test_inferences_are_named_by_the_conventions(stage: Stage, collector: Collector) -> None:
    run = await finished(stage)
    spans = [span for span in collector.spans if span.name.startswith("chat ")]
    assert [span.name for span in spans] == ["chat user", "chat assistant", "chat judge"] * 2
    assert {span.kind for span in spans} == {Span.SPAN_KIND_CLIENT}
    first = facts(spans[1])
    time_to_first = first.pop("gen_ai.response.time_to_first_chunk")
    assert isinstance(time_to_first, float)
    assert 0 < time_to_first < 10
    [used] = [i["usage"] for i in run["conversation"] if (i["role"], i["turn"]) == ("assistant", 1)]
    assert first == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "assistant",
        "gen_ai.request.stream": True,
        "gen_ai.response.model": "assistant",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.output.type": "text",
        "gen_ai.usage.input_tokens": used["prompt_tokens"],
        "gen_ai.usage.output_tokens": used["completion_tokens"],
        "gen_ai.usage.cache_read.input_tokens": used["cached_prompt_tokens"],
        "parley.role": "assistant",
    }
    assert facts(spans[2])["gen_ai.output.type"] == "json"


async def test_what_was_said_stays_out(stage: Stage, collector: Collector) -> None:
    run = await finished(stage)
    said = [item["content"] for item in run["conversation"] if item["content"]]
    assert said
    sent = b"".join(collector.bodies).decode(errors="replace")
    for words in (*said, "boots", "operator-llm-key-canary", stage.gateway["base_url"]):
        assert words not in sent


class TestContentAskedFor:
    @pytest.fixture
    def telemetry(self, collector: Collector) -> TelemetrySettings:
        return TelemetrySettings(otlp_url=collector.url, content=True)

    async def test_what_was_said_is_in_the_spans(self, stage: Stage, collector: Collector) -> None:
        run = await finished(stage)
        [spoken] = [i["content"] for i in run["conversation"] if (i["role"], i["turn"]) == ("assistant", 1)]
        spans = [span for span in collector.spans if span.name == "chat assistant"]
        assert spoken in str(facts(spans[0])["gen_ai.output.messages"])
        assert spoken in str(facts(spans[1])["gen_ai.input.messages"])
        assert "operator-llm-key-canary" not in b"".join(collector.bodies).decode(errors="replace")


async def test_gateway_alone_is_told_of_the_trace(stage: Stage, collector: Collector) -> None:
    run = await finished(stage)
    told = [one for one in stage.llms.requests if "traceparent" in one.headers]
    assert [one.llm for one in told] == ["assistant"] * 2
    version, trace_id, span_id, flags = told[0].headers["traceparent"].split("-")
    assert (version, trace_id) == ("00", UUID(run["id"]).hex)
    assert int(flags, 16) & 1
    spans = [span for span in collector.spans if span.name == "chat assistant"]
    assert span_id == spans[0].span_id.hex(), "what the gateway records hangs below our span"


async def test_run_that_changes_hands_stays_one_trace(stage: Stage, collector: Collector) -> None:
    stage.play(Rule((Hang(2),), part="assistant", times=1))
    path = await stage.start(await stage.make_test(**FIELDS))
    async with stage.worker():
        await until(lambda: stage.llms.stats.by_llm.get("assistant"))
    async with stage.worker():
        run = await stage.finished(path)
    roots = named(collector.spans, "invoke_workflow agentic test")
    assert {span.trace_id.hex() for span in roots} == {UUID(run["id"]).hex}
    assert ["parley.run.outcome" in facts(span) for span in roots] == [False, True]
    [stopped] = [span for span in collector.spans if facts(span).get("error.type") == "stopped"]
    assert (stopped.name, stopped.parent_span_id) == ("chat assistant", roots[0].span_id)


async def test_fault_is_marked_by_its_code_without_its_text(stage: Stage, collector: Collector) -> None:
    stage.play(Rule((Answers(503, body="the boots are on fire"),), part="assistant", times=1))
    await finished(stage)
    [failed] = [span for span in collector.spans if span.status.code == Status.STATUS_CODE_ERROR]
    assert facts(failed)["error.type"] == "http_error"
    assert facts(failed)["http.response.status_code"] == 503
    assert b"on fire" not in b"".join(collector.bodies)


async def test_hooks_are_spans_without_their_addresses(stage: Stage, collector: Collector) -> None:
    async with receiving() as receiver:
        await finished(stage, hooks=[{"event": "before-test", "url": receiver.url("/secret-path")}])
    [span] = named(collector.spans, "hook before-test")
    assert facts(span) == {
        "parley.hook.event": "before-test",
        "parley.turn": 0,
        "http.request.method": "POST",
        "http.response.status_code": 200,
    }
    assert b"secret-path" not in b"".join(collector.bodies)


async def test_direct_evaluation_is_a_trace_of_its_own(stage: Stage, collector: Collector) -> None:
    await stage.evaluated(max_turns=2)
    await until(lambda: named(collector.spans, "invoke_workflow direct evaluation"))
    [root] = named(collector.spans, "invoke_workflow direct evaluation")
    chats = [span for span in collector.spans if span.name.startswith("chat ")]
    assert {(span.trace_id, span.parent_span_id) for span in chats} == {(root.trace_id, root.span_id)}
    assert len(chats) == 6
    told = [one.headers["traceparent"] for one in stage.llms.requests if "traceparent" in one.headers]
    assert {header.split("-")[1] for header in told} == {root.trace_id.hex()}


class TestSampledOut:
    @pytest.fixture
    def telemetry(self, collector: Collector) -> TelemetrySettings:
        return TelemetrySettings(otlp_url=collector.url, sample_ratio=0)

    async def test_nothing_is_sent_and_the_gateway_is_not_told_to_drop_its_own(
        self, stage: Stage, collector: Collector
    ) -> None:
        await finished(stage)
        assert collector.bodies == []
        assert not any("traceparent" in one.headers for one in stage.llms.requests)


class TestCollectorAway:
    @pytest.fixture
    def telemetry(self, unused_tcp_port: int) -> TelemetrySettings:
        return TelemetrySettings(otlp_url=f"http://127.0.0.1:{unused_tcp_port}")

    async def test_runs_go_on(self, stage: Stage) -> None:
        assert (await finished(stage))["state"] == "succeeded"
