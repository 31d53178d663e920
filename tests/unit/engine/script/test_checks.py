"""Deterministic expectations against what a step gave."""

from __future__ import annotations

from typing import Any

import pytest

from parley.engine.script.check import CheckRecord
from parley.engine.script.checks import checked
from parley.engine.script.fakes import answers, choice, pauses, tool_events
from parley.engine.script.fit import misfit
from parley.engine.script.observation import AgentEvent, Interrupt, Observation, Structured, joined_deltas
from parley.engine.script.reading import read_suite
from parley.engine.script.shapes import (
    Expect,
    LiteralResume,
    ResumeCancel,
    ResumeSelect,
    ResumeText,
    ResumeValue,
)


def expect(**fields: Any) -> Expect:
    given = {"type": "answer", **fields}
    step = {"message": "x", "expect": given}
    return read_suite({"id": "s", "cases": [{"id": "c", "steps": [step]}]}).cases[0].steps[0].expect


def missed(
    expected: Expect, observation: Observation, latency_ms: int = 10, after_cancel: bool = False
) -> list[str]:
    found = checked(expected, observation, latency_ms, after_cancel=after_cancel)
    assert found, "something is always checked"
    assert all(check.detail for check in found)
    return [check.check for check in found if not check.passed]


def saying(text: str = "x", **fields: Any) -> Observation:
    return answers(text, **fields).observation


PAUSE = pauses(choice("a", "b", schema_id="approval")).observation


def test_wrong_kind_is_the_only_miss_that_is_told() -> None:
    assert missed(expect(text={"contains": ["y"]}), PAUSE) == ["type"]
    assert missed(expect(type="interrupt"), saying()) == ["type"]
    assert missed(expect(type="interrupt"), PAUSE) == []


@pytest.mark.parametrize(
    ("observation", "misses"),
    [
        (saying(""), ["type"]),
        (saying(" \u200b"), ["type"]),
        (saying("hi"), []),
        (saying("", outputs=[Structured(schema_id="r", data=1)]), []),
        (saying("", outputs=[Structured(schema_id="r", data=1, status="streaming")]), ["type"]),
    ],
)
def test_answer_with_nothing_to_check_must_give_something(
    observation: Observation, misses: list[str]
) -> None:
    assert missed(expect(), observation) == misses


def test_empty_answer_is_fine_where_something_else_is_checked() -> None:
    assert missed(expect(tools=[{"name": "pay", "called": False}]), saying("")) == []


def test_cancelled_turn_is_the_answer_to_a_cancelled_pause_only() -> None:
    cancelled = Observation(type="cancelled")
    assert missed(expect(), cancelled, after_cancel=True) == []
    assert missed(expect(), cancelled) == ["type"]


@pytest.mark.parametrize(
    ("fields", "misses"),
    [
        ({"schemaId": "approval"}, []),
        ({"schemaId": "refund"}, ["schemaId"]),
        ({"schemaId": "approval", "schemaVersion": "2"}, ["schemaId"]),
    ],
)
def test_interrupt_carries_its_schema(fields: dict[str, Any], misses: list[str]) -> None:
    assert missed(expect(type="interrupt", **fields), PAUSE) == misses


RECEIPT = Structured(stream_id="s", schema_id="receipt", schema_version="1", data={"n": 1})


def data(output: Structured, kind: str = "structured-data") -> AgentEvent:
    return AgentEvent(type=kind, stream_id=output.stream_id, schema_id=output.schema_id, data=output.data)


@pytest.mark.parametrize(
    ("observation", "is_met"),
    [
        (saying(outputs=[RECEIPT]), True),
        (saying(outputs=[RECEIPT], events=[data(RECEIPT)]), True),
        (saying(outputs=[RECEIPT.model_copy(update={"status": "streaming"})]), False),
        (saying(outputs=[RECEIPT.model_copy(update={"schema_version": "2"})]), False),
        (saying(outputs=[RECEIPT], events=[data(RECEIPT, "structured-data-invalidated")]), False),
        (
            saying(
                outputs=[RECEIPT],
                events=[data(RECEIPT), data(RECEIPT, "structured-data-invalidated"), data(RECEIPT)],
            ),
            True,
        ),
        (saying(events=tool_events("receipt", {}, {"schemaId": "receipt", "schemaVersion": "1"})), False),
        (saying(outputs=[Structured(data_type="x", data={"schemaId": "receipt"})]), False),
        (saying(), False),
    ],
)
def test_output_is_met_by_a_completed_one_of_this_step_alone(observation: Observation, is_met: bool) -> None:
    wanted = expect(outputs=[{"schemaId": "receipt", "schemaVersion": "1"}])
    assert (missed(wanted, observation) == []) is is_met


FOUND_THEN_PAID = [*tool_events("find", {"id": 17, "deep": True}, {"ok": 1}, "1"),
                   *tool_events("pay", '{"id": 17, "sum": 5}', "paid", "2")]  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "is_met"),
    [
        ({"name": "find"}, True),
        ({"name": "look"}, False),
        ({"name": "look", "called": False}, True),
        ({"name": "find", "called": False}, False),
        ({"name": "find", "arguments": {"id": 17}}, True),
        ({"name": "find", "arguments": {"id": 17}, "exact": True}, False),
        ({"name": "find", "arguments": {"deep": True, "id": 17}, "exact": True}, True),
        ({"name": "find", "arguments": {"deep": 1}}, False),
        ({"name": "find", "arguments": {"id": 18}}, False),
        ({"name": "find", "arguments": {"id": 18}, "called": False}, True),
        ({"name": "pay", "arguments": {"sum": 5}}, True),
        ({"name": "pay", "count": 1}, True),
        ({"name": "pay", "count": 2}, False),
        ({"name": "pay", "count": 0}, False),
        ({"name": "look", "count": {"max": 3}}, True),
        ({"name": "pay", "count": {"min": 2}}, False),
        ({"name": "pay", "after": "find"}, True),
        ({"name": "find", "after": "pay"}, False),
        ({"name": "pay", "after": "look"}, False),
    ],
)
def test_tools(tool: dict[str, Any], is_met: bool) -> None:
    observation = saying(events=FOUND_THEN_PAID)
    assert (missed(expect(tools=[tool]), observation) == []) is is_met


def test_call_told_by_its_result_alone_counts_once() -> None:
    late = AgentEvent(type="tool-call-error", tool_name="pay", call_id="9", error="refused")
    observation = saying(events=[late, late, *tool_events("pay", {}, 1, "10")])
    assert missed(expect(tools=[{"name": "pay", "count": 2}]), observation) == []


@pytest.mark.parametrize(
    ("text", "misses"),
    [
        ({"contains": ["14 days", "refund"]}, []),
        ({"contains": ["REFUND"]}, ["text.contains[0]"]),
        ({"contains": ["REFUND"], "ignoreCase": True}, []),
        ({"notContains": ["days"]}, ["text.notContains[0]"]),
        ({"matches": ["[0-9]+ days", "^refund$"]}, ["text.matches[1]"]),
        ({"matches": ["^YOUR"], "ignoreCase": True}, []),
        ({"notMatches": ["[0-9]{3}", "d.ys"]}, ["text.notMatches[1]"]),
    ],
)
def test_text(text: dict[str, Any], misses: list[str]) -> None:
    assert missed(expect(text=text), saying("Your refund comes in 14 days.")) == misses


def test_question_of_a_pause_is_part_of_its_text() -> None:
    assert missed(expect(type="interrupt", text={"contains": ["Which one?"]}), PAUSE) == []


@pytest.mark.parametrize(
    ("text", "misses"),
    [('{"n": 1}', []), ('{"n": "1"}', ["jsonSchema"]), ("n is 1", ["jsonSchema"])],
)
def test_json_schema_of_an_answer_is_about_its_text(text: str, misses: list[str]) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert missed(expect(jsonSchema=schema), saying(text)) == misses


def test_json_schema_of_a_pause_is_about_its_request() -> None:
    pause = Interrupt(request_id="1", kind="custom", request={"sum": "5"})
    schema = {"properties": {"sum": {"type": "integer"}}}
    found = checked(expect(type="interrupt", jsonSchema=schema), pauses(pause).observation, 1)
    assert [check.passed for check in found] == [True, False]
    assert found[1].detail.startswith("sum: ")


def test_latency_at_the_limit_is_in_time() -> None:
    assert missed(expect(maxLatencyMs=10), saying(), 10) == []
    assert missed(expect(maxLatencyMs=10), saying(), 11) == ["maxLatencyMs"]


MULTI = Interrupt(request_id="1", kind="multi-choice", options=choice("a", "b").options)


@pytest.mark.parametrize(
    ("resume", "interrupt", "fits"),
    [
        (ResumeSelect(type="select", ids=("a",)), choice("a", "b"), True),
        (ResumeSelect(type="select", ids=("c",)), choice("a", "b"), False),
        (ResumeSelect(type="select", ids=("a", "b")), choice("a", "b"), False),
        (ResumeSelect(type="select", ids=("a", "b")), MULTI, True),
        (ResumeSelect(type="select", ids=("a",)), Interrupt(request_id="1", kind="text"), False),
        (ResumeValue(type="value", value=1), Interrupt(request_id="1", kind="custom"), True),
        (ResumeValue(type="value", value=1), choice("a"), False),
        (ResumeText(type="text", text="a"), choice("a"), True),
        (ResumeCancel(type="cancel"), MULTI, True),
    ],
)
def test_resume_fits_the_pause(resume: LiteralResume, interrupt: Interrupt, fits: bool) -> None:
    assert (misfit(resume, interrupt) is None) is fits


def test_neighbouring_deltas_of_one_source_are_joined() -> None:
    def delta(text: str, source: str = "agent") -> AgentEvent:
        return AgentEvent(type="text-delta", text=text, source=source)

    other = AgentEvent(type="status", text="thinking")
    events = [delta("a"), delta("b"), delta("c", "other"), delta("d"), other, delta("e"), delta("f")]
    assert joined_deltas(events) == (delta("ab"), delta("c", "other"), delta("d"), other, delta("ef"))


def test_check_reads_back_from_the_wire() -> None:
    for check in checked(expect(tools=[{"name": "pay"}], maxLatencyMs=5), saying(events=FOUND_THEN_PAID), 9):
        assert CheckRecord.of_wire(check.wire()) == check
