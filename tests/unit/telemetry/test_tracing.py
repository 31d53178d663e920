"""Trace ids that are run ids, and a sampler that decides alike everywhere."""

from __future__ import annotations

from uuid import UUID

import pytest
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import Span, SpanKind

from parley.engine.messages import Message, Part, Reasoning, Refusal, Text, ToolCall, ToolResult
from parley.server.kit.ids import new_id
from parley.server.telemetry.chat_span import _heard, spoken
from parley.server.telemetry.tracing import ByTraceId, TraceRules, Tracing, traceparent


def tracing(ratio: float = 1.0) -> Tracing:
    return Tracing.to_collector(TraceRules(url="", headers={}, ratio=ratio), SpanProcessor())


def root(made: Tracing, trace_id: UUID | None = None) -> Span:
    return made.root("run", SpanKind.INTERNAL, {}, trace_id)


def test_trace_of_a_run_has_the_runs_id_in_every_process() -> None:
    run_id = new_id()
    spans = [root(tracing(), run_id) for _ in range(2)]
    assert [span.get_span_context().trace_id for span in spans] == [run_id.int] * 2
    assert len({span.get_span_context().span_id for span in spans}) == 2
    other = root(tracing())
    assert other.get_span_context().trace_id != run_id.int


def test_traceparent_is_the_form_of_w3c() -> None:
    run_id = UUID("01a22cd1-1c69-7435-8e3a-8a2be0d79950")
    header = traceparent(root(tracing(), run_id))
    assert header is not None
    version, trace_id, span_id, flags = header.split("-")
    assert (version, trace_id, len(span_id)) == ("00", "01a22cd11c6974358e3a8a2be0d79950", 16)
    assert int(flags, 16) & 1


def test_dropped_trace_has_no_traceparent() -> None:
    assert traceparent(root(tracing(0.0), new_id())) is None


def takes(ratio: float, trace_id: int) -> bool:
    return ByTraceId(ratio).should_sample(None, trace_id, "run").decision is Decision.RECORD_AND_SAMPLE


@pytest.mark.parametrize("ratio", [0.0, 0.25, 0.75, 1.0])
def test_part_of_the_runs_is_taken_whatever_time_makes_of_their_ids(ratio: float) -> None:
    kept = sum(takes(ratio, new_id().int) for _ in range(4_000))
    assert kept / 4_000 == pytest.approx(ratio, abs=0.05)


def test_larger_part_holds_the_smaller_one() -> None:
    ids = [new_id().int for _ in range(500)]
    small, large = ({one for one in ids if takes(ratio, one)} for ratio in (0.2, 0.6))
    assert small < large


def test_words_are_written_as_the_conventions_want() -> None:
    call = ToolCall(id="c1", name="find", arguments='{"a":1}')
    parts: list[Part] = [Reasoning(text="h"), Reasoning(text="m"), Text(text="Hel"), Text(text="lo"), call]
    [(_, text)] = spoken([*parts, ToolResult(id="c1", name="find", content="[]")], None).items()
    assert text == (
        '[{"role":"assistant","parts":[{"type":"reasoning","content":"hm"},{"type":"text","content":"Hello"},'
        '{"type":"tool_call","id":"c1","name":"find","arguments":"{\\"a\\":1}"},'
        '{"type":"tool_call_response","id":"c1","response":"[]"}],"finish_reason":"error"}]'
    )
    assert _heard(Message(role="tool", content="[]", tool_call_id="c1")) == {
        "role": "tool",
        "parts": [{"type": "tool_call_response", "id": "c1", "response": "[]"}],
    }
    assert spoken([Refusal(text="No.")], None)["gen_ai.output.messages"]
