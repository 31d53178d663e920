"""The pure parts of playing against a gateway: arguments, pauses, outputs, notes."""

from __future__ import annotations

from typing import Any

import pytest

from parley.engine.messages import Text, ToolCall, ToolResult
from parley.engine.script.shapes import ResumeCancel, ResumeSelect, ResumeText, ResumeValue
from parley.server.attempts.gateway.arguments import arguments_of, lenient_arguments
from parley.server.attempts.gateway.errors import AgentFailed
from parley.server.attempts.gateway.notes import StepNotes
from parley.server.attempts.gateway.outputs import structured_in
from parley.server.attempts.gateway.pauses import answer_of, at_pointer, interrupt_of
from parley.server.attempts.gateway.talk import MOST_CHARS, MOST_STEP_CHARS, Talk
from parley.server.attempts.targets import GatewayTarget, InterruptTool, read_target

SCHEMA = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}


def asking(**fields: Any) -> InterruptTool:
    return InterruptTool.of_wire({"type": "interrupt", "name": "ask", **fields})


def test_pointers_lead_where_rfc_6901_says() -> None:
    value = {"a/b": [{"~": 1}], "": 2}
    assert at_pointer(value, "") == value
    assert at_pointer(value, "/a~1b/0/~0") == 1
    assert at_pointer(value, "/") == 2
    for missing in ("/x", "/a~1b/1", "/a~1b/-1", "/a~1b/0/~0/deeper"):
        with pytest.raises(LookupError):
            at_pointer(value, missing)


def test_pause_finds_its_words_and_options_in_the_arguments() -> None:
    tool = asking(kind="choice", question="/q", options="/among", schemaId="approval", schemaVersion="2")
    options = ["yes", 2, {"id": "no", "label": "No", "description": "Never."}]
    pause = interrupt_of(tool, "call_7", {"q": "Well?", "among": options})
    assert (pause.request_id, pause.question, pause.schema_id, pause.schema_version) == (
        "call_7",
        "Well?",
        "approval",
        "2",
    )
    assert [(one.id, one.label, one.description) for one in pause.options] == [
        ("yes", "yes", None),
        ("2", "2", None),
        ("no", "No", "Never."),
    ]
    assert pause.request == {"q": "Well?", "among": options}


@pytest.mark.parametrize("among", [None, [], "yes", [True], [{"label": "x"}], ["a", "a"], [""], [["a"]]])
def test_pause_without_options_that_can_be_told_apart_is_the_agents_error(among: Any) -> None:
    with pytest.raises(AgentFailed) as failed:
        interrupt_of(asking(kind="choice", options="/among"), "call_1", {"among": among})
    assert failed.value.code == "pause_unreadable"


def test_resumes_become_results() -> None:
    assert answer_of(ResumeText(type="text", text="So be it.")) == "So be it."
    assert answer_of(ResumeSelect(type="select", ids=("a", "b"))) == ["a", "b"]
    assert answer_of(ResumeValue(type="value", value={"n": None})) == {"n": None}
    assert answer_of(ResumeCancel(type="cancel")) is None


@pytest.mark.parametrize("written", ["[1]", "{", '{"a": NaN}', '{"a": 1, "a": 2}', '"x"'])
def test_arguments_that_are_no_object_are_the_agents_error(written: str) -> None:
    with pytest.raises(AgentFailed) as failed:
        arguments_of(ToolCall(id="call_1", name="find", arguments=written))
    assert failed.value.code == "call_unreadable"
    lenient_arguments(written)  # what is only told is never refused


def test_no_arguments_at_all_are_an_empty_object() -> None:
    assert arguments_of(ToolCall(id="call_1", name="find", arguments=" ")) == {}


def test_output_is_what_fits_the_schema_that_was_asked_for() -> None:
    assert structured_in('{"sum": 3}', SCHEMA) == ({"sum": 3},)
    assert structured_in("null", {}) == (None,)
    for other in ('{"sum": "3"}', "three", '{"sum": 3} and more', ""):
        assert structured_in(other, SCHEMA) is None


def test_calls_that_the_gateway_answered_itself_are_told_in_order() -> None:
    notes = StepNotes()
    notes.streamed(
        (
            ToolCall(id="1", name="find", arguments='{"id": 17}'),
            ToolCall(id="2", name="open", arguments="{}"),
            ToolResult(id="1", name="find", content="two "),
            ToolResult(id="1", name="find", content="pieces"),
            Text(text="There."),
        )
    )
    told = [(event.type, event.call_id, event.arguments, event.result) for event in notes.events]
    assert told == [
        ("tool-call-start", "1", {"id": 17}, None),
        ("tool-call-result", "1", None, "two pieces"),
    ]


def test_more_than_a_record_can_hold_ends_the_step() -> None:
    nobody: Any = None
    talk = Talk(line=nobody, playing=nobody, clock=nobody)
    for _ in range(MOST_CHARS // MOST_STEP_CHARS):
        talk.begin_step()
        talk.take(MOST_STEP_CHARS)
    with pytest.raises(AgentFailed, match="8,000,000 in all"):
        talk.take(1)
    talk.begin_step()
    with pytest.raises(AgentFailed) as failed:
        talk.take(1)
    assert failed.value.code == "too_large"


def test_target_is_read_as_it_was_written() -> None:
    written = {
        "type": "gateway",
        "gateway": "shop",
        "toolVisibility": "reported",
        "tools": [
            {
                "type": "auto",
                "name": "find",
                "stubs": [{"match": {"id": 1}, "result": None}, {"error": "no"}],
            },
            {"type": "output", "name": "book", "schemaId": "receipt", "result": {"ok": True}},
        ],
        "responders": [{"name": "one", "resume": {"type": "cancel"}}, {"name": "two", "label": "Yes"}],
    }
    target = read_target(written)
    assert isinstance(target, GatewayTarget)
    told = target.wire()
    assert {name: told[name] for name in written} == written
    assert read_target(told) == target
