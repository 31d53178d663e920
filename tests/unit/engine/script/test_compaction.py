"""Compaction drops noise, keeps every payload, and changes nothing the second time; then selection."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.engine.script.compaction import EVENT_NAMES, compacted
from parley.engine.script.fakes import answers, choice, tool_events
from parley.engine.script.faults import PhaseFailed
from parley.engine.script.observation import AgentEvent, Observation, Structured, completed_outputs
from parley.engine.script.selection import selected
from parley.engine.script.shapes import Evidence, Named, OutputSelector

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
STREAMS = st.sampled_from([None, "s1", "s2"])
IDS = st.fixed_dictionaries(
    {"stream_id": STREAMS, "data_type": st.just("card"), "schema_id": st.sampled_from([None, "a", "b"])}
)
DATA = st.sampled_from([None, 1, {"n": 1}, {"n": 2}])
NOISE = ["text-delta", "status", "structured-delta", "transition", "step-finish", "done"]


@st.composite
def events(draw: st.DrawFn) -> AgentEvent:
    ids: dict[str, Any] = draw(IDS)
    kind = draw(st.sampled_from([*sorted(EVENT_NAMES), *NOISE]))
    if kind.startswith("structured-data"):
        given_data: dict[str, Any] = {"data": draw(DATA)} if kind == "structured-data" else {}
        status: Any = draw(st.sampled_from([None, "done", "streaming"]))
        return AgentEvent(type=kind, status=status, **ids, **given_data)
    if kind.startswith("tool"):
        return AgentEvent(type=kind, tool_name="t", call_id="1", arguments=draw(JSON), result=draw(JSON))
    interrupt = choice("a") if kind == "interrupt" else None
    return AgentEvent(type=kind, text=draw(st.text(max_size=3)), error=draw(JSON), interrupt=interrupt)


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    outputs = [
        Structured(status=draw(st.sampled_from(["done", "streaming"])), data=draw(DATA), **ids)
        for ids in draw(st.lists(IDS, max_size=3))
    ]
    return answers(
        draw(st.text(max_size=5)), events=draw(st.lists(events(), max_size=8)), outputs=outputs
    ).observation


def payloads(observation: Observation) -> list[Any]:
    return [
        (event.type, event.call_id, event.arguments, event.result, event.error)
        for event in observation.events
        if event.type.startswith("tool")
    ]


@given(observations())
def test_second_compaction_changes_nothing(observation: Observation) -> None:
    once = compacted(observation)
    assert compacted(once) == once
    assert Observation.of_wire(once.wire()) == once


@given(observations())
def test_no_tool_payload_is_lost_and_the_order_holds(observation: Observation) -> None:
    assert payloads(compacted(observation)) == payloads(observation)


@given(observations())
def test_noise_is_dropped_and_ends_pauses_and_errors_stay(observation: Observation) -> None:
    kept = ("error", "interrupt", "cancelled", "limit-reached")
    compact = compacted(observation)
    assert [e for e in compact.events if e.type in kept] == [e for e in observation.events if e.type in kept]
    assert {event.type for event in compact.events} <= EVENT_NAMES
    assert compact.text == observation.text


@given(observations())
def test_each_final_output_stands_once_and_no_data_is_lost(observation: Observation) -> None:
    compact = compacted(observation)
    shown = [(one.stream_id, one.schema_id, one.data) for one in compact.structured]
    copies = [(e.stream_id, e.schema_id, e.data) for e in compact.events if "data" in e.model_fields_set]
    assert not [copy for copy in copies if copy in shown]
    everywhere = [data for *_, data in shown + copies]
    assert all(output.data in everywhere for output in observation.structured)
    assert completed_outputs(compact) == completed_outputs(observation)


SELECTIONS: list[Any] = [
    None,
    False,
    (),
    (OutputSelector(schema_id="a"),),
    (OutputSelector(data_type="card"),),
]
EVENTS: list[Any] = [
    None,
    False,
    (),
    ("tool-result", "error"),
    ("structured-data", "structured-data-invalidated"),
]


@given(
    observations(),
    st.sampled_from([Evidence(outputs=o, events=e) for o, e in itertools.product(SELECTIONS, EVENTS)]),
)
def test_selected_evidence_selects_to_itself(observation: Observation, policy: Evidence) -> None:
    once = selected(observation, policy, {})
    assert selected(once, policy, {}) == once


def data(n: int, *, stream: str = "s", schema: str = "a", kind: str = "structured-data") -> AgentEvent:
    given_data: dict[str, Any] = {"data": n} if kind == "structured-data" else {}
    return AgentEvent(type=kind, stream_id=stream, schema_id=schema, **given_data)


GONE = "structured-data-invalidated"


def test_history_of_an_output_stands_in_order_and_its_final_copy_once() -> None:
    final = Structured(stream_id="s", schema_id="a", data=3)
    told = [data(1), data(0, kind=GONE), *tool_events("t", {}, 2), data(3)]
    compact = compacted(answers("x", events=told, outputs=[final]).observation)
    assert compact.structured == (final,)
    assert [(event.type, event.data) for event in compact.events] == [
        ("structured-data", 1), (GONE, None), ("tool-call-start", None), ("tool-call-result", None),
        ("structured-data", None),
    ]  # fmt: skip


def test_output_that_was_taken_back_is_not_shown_as_final() -> None:
    taken_back = Structured(stream_id="s", schema_id="a", data=1)
    compact = compacted(answers("x", events=[data(0, kind=GONE)], outputs=[taken_back]).observation)
    assert compact.structured == ()
    assert [(event.type, event.data) for event in compact.events] == [("structured-data", 1), (GONE, None)]


@pytest.mark.parametrize(
    ("told", "final", "is_same"),
    [(1, 1.0, True), (True, 1, True), ({"a": [1.5]}, {"a": [1.5]}, True), ("1", 1, False), ([], {}, False),
     (["#", "1"], 1, False), (None, False, False), (10**30, 1e30, False)],
)  # fmt: skip
def test_copy_is_told_by_what_it_holds(told: Any, final: Any, is_same: bool) -> None:
    output = Structured(stream_id="s", schema_id="a", data=final)
    [event] = compacted(answers("x", events=[data(told)], outputs=[output]).observation).events
    assert ("data" not in event.model_fields_set) == is_same


def test_many_outputs_that_were_taken_back_stand_before_what_took_them_back() -> None:
    """In time that grows with their number alone: a customer may send as many as a body holds."""
    names = [str(number) for number in range(10_000)]
    outputs = [Structured(stream_id=name, data=int(name)) for name in names]
    gone = [AgentEvent(type=GONE, stream_id=name) for name in reversed(names)]
    compact = compacted(answers("x", events=gone, outputs=outputs).observation)
    assert [(event.type, event.stream_id) for event in compact.events] == [
        (kind, name) for name in reversed(names) for kind in ("structured-data", GONE)
    ]


WHOLE = answers(
    "x",
    events=[data(1, stream="1"), data(0, stream="1", kind=GONE), data(2, stream="2", schema="b"),
            *tool_events("t", {"id": 1}, "r"), AgentEvent(type="status", text="busy")],
    outputs=[Structured(stream_id="2", schema_id="b", data=2), Structured(data_type="card", data=5)],
).observation  # fmt: skip


CALL = ["tool-call-start", "tool-call-result"]
A, B, B1 = (
    OutputSelector(schema_id="a"),
    OutputSelector(schema_id="b"),
    OutputSelector(schema_id="b", schema_version="1"),
)
CARD = OutputSelector(data_type="card")


@pytest.mark.parametrize(
    ("policy", "outputs", "kinds"),
    [
        (Evidence(), [2, 5], ["structured-data", GONE, "structured-data", *CALL]),
        (Evidence(events=False), [2, 5], []),
        (Evidence(events=()), [2, 5], []),
        (Evidence(outputs=False), [], CALL),
        (Evidence(outputs=()), [], CALL),
        (Evidence(outputs=(B,), events=("structured-data",)), [2], ["structured-data"]),
        (Evidence(outputs=(A,), events=("structured-data-invalidated",)), [], [GONE]),
        (Evidence(outputs=(B1,)), [], CALL),
        (Evidence(outputs=(B, CARD), events=False), [2, 5], []),
    ],
)
def test_selection(policy: Evidence, outputs: list[int], kinds: list[str]) -> None:
    evidence = selected(WHOLE, policy, {})
    assert [output.data for output in evidence.structured] == outputs
    assert [event.type for event in evidence.events] == kinds


def test_filters_decide_on_isolated_copies() -> None:
    def small(item: dict[str, Any], params: Any) -> bool:
        keep = item["data"] < params["below"] if "data" in item else True
        item.clear()
        params.clear()
        return bool(keep)

    policy = Evidence(outputs=Named(using="small", params={"below": 5}))
    evidence = selected(WHOLE, policy, {"small": small})
    assert [output.data for output in evidence.structured] == [2]
    only_tools = Evidence(events=Named(using="tools"))
    filters = {"tools": lambda event, _params: event["type"].startswith("tool")}
    kinds = [event.type for event in selected(WHOLE, only_tools, filters).events]
    assert kinds == ["tool-call-start", "tool-call-result"]


def raising(_item: Any, _params: Any) -> bool:
    raise KeyError("secret")


@pytest.mark.parametrize(
    ("filters", "code"),
    [
        ({}, "filter_unknown"),
        ({"mine": raising}, "filter_raised"),
        ({"mine": lambda _item, _params: 1}, "filter_no_boolean"),
        ({"mine": lambda _item, _params: None}, "filter_no_boolean"),
    ],
)
def test_filter_that_goes_wrong_is_a_grading_error(filters: dict[str, Any], code: str) -> None:
    for policy in (Evidence(events=Named(using="mine")), Evidence(outputs=Named(using="mine"))):
        with pytest.raises(PhaseFailed) as failed:
            selected(WHOLE, policy, filters)
        assert (failed.value.phase, failed.value.code) == ("grading", code)
        assert "secret" not in failed.value.message
