"""What the recorder notes, in order, from tasks and threads; outside of evals it does nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from parley.sdk.evals import AttemptRecord, Evals, Interrupt, Turn, Usage, record, recorded_tool
from tests.unit.sdk_evals.stage import pausing, step, suite


async def played(agent: Any, *steps: Any) -> AttemptRecord:
    run = await Evals(agent=agent, suites=[suite(*(steps or (step(),)))]).run()
    return run.attempts[0]


def told(attempt: AttemptRecord) -> list[dict[str, Any]]:
    observation = attempt.steps[0].observation
    assert observation is not None
    return [event.wire() for event in observation.events]


@dataclass
class Order:
    id: int


@recorded_tool
def find_order(id: int, *, deep: bool = False) -> Order:
    return Order(-id if deep else id)


@recorded_tool
async def pay(order: Order) -> str:
    await asyncio.sleep(0)
    raise ValueError(f"order {order.id} is paid already")


async def test_tools_are_noted_with_arguments_results_and_errors() -> None:
    async def agent(_turn: Turn) -> str:
        order = await asyncio.to_thread(find_order, 17)
        with pytest.raises(ValueError, match="paid already"):
            await pay(order=order)
        return "It is paid already."

    attempt = await played(
        agent, step(tools=[{"name": "pay", "arguments": {"order": {"id": 17}}, "after": "find_order"}])
    )
    assert attempt.status == "passed"
    assert told(attempt) == [
        {"type": "tool-call-start", "toolName": "find_order", "callId": "call-1", "arguments": {"id": 17}},
        {"type": "tool-call-result", "toolName": "find_order", "callId": "call-1", "result": {"id": 17}},
        {"type": "tool-call-start", "toolName": "pay", "callId": "call-2",
         "arguments": {"order": {"id": 17}}},
        {"type": "tool-call-error", "toolName": "pay", "callId": "call-2",
         "error": "ValueError: order 17 is paid already"},
    ]  # fmt: skip


async def test_tool_as_a_block() -> None:
    def agent(_turn: Turn) -> str:
        with record.tool("look", id=1) as call:
            call.result({"found": True})
        with record.tool("forget"):
            pass
        with pytest.raises(KeyError), record.tool("fall"):
            raise KeyError("x")
        return "x"

    assert [(one["type"], one.get("result", one.get("error"))) for one in told(await played(agent))] == [
        ("tool-call-start", None), ("tool-call-result", {"found": True}),
        ("tool-call-start", None), ("tool-call-result", None),
        ("tool-call-start", None), ("tool-call-error", "KeyError: 'x'"),
    ]  # fmt: skip


async def test_streamed_words_are_the_answer_unless_another_is_returned() -> None:
    def streams(_turn: Turn) -> None:
        for delta in ("It is ", "on its ", "way."):
            record.text(delta)

    attempt = await played(streams, step(text={"contains": ["It is on its way."]}))
    assert attempt.status == "passed"
    assert told(attempt) == [{"type": "text-delta", "text": "It is on its way."}]

    def says_otherwise(_turn: Turn) -> str:
        record.text("hm")
        return "No."

    other = (await played(says_otherwise)).steps[0].observation
    assert other is not None
    assert other.text == "No."


async def test_outputs_are_replaced_and_taken_back_by_their_stream() -> None:
    def agent(_turn: Turn) -> str:
        record.output({"n": 1}, schema_id="card", stream_id="a", is_partial=True)
        record.output({"n": 2}, schema_id="card", stream_id="a")
        record.output({"n": 3}, schema_id="bill", stream_id="b")
        record.invalidate("b")
        return "x"

    attempt = await played(agent, step(outputs=[{"schemaId": "card"}, {"schemaId": "bill"}]))
    assert [check.passed for check in attempt.steps[0].checks] == [True, True, False]
    observation = attempt.steps[0].observation
    assert observation is not None
    assert [(one.stream_id, one.data, one.status) for one in observation.structured] == [
        ("a", {"n": 2}, "done"), ("b", {"n": 3}, "done"),
    ]  # fmt: skip


async def test_recorded_interrupt_makes_the_step_a_pause_and_two_are_an_error() -> None:
    def pausing_agent(*request_ids: str) -> Any:
        def agent(_turn: Turn) -> str:
            for request_id in request_ids:
                record.interrupt(Interrupt(request_id=request_id, kind="text", question="Sure?"))
            return "x"

        return agent

    assert (await played(pausing_agent("1"), pausing())).status == "passed"
    attempt = await played(pausing_agent("1", "2"), pausing())
    assert [error.code for error in attempt.errors] == ["two_interrupts"]


async def test_usage_and_run_id_are_kept() -> None:
    def agent(_turn: Turn) -> str:
        record.usage(Usage(model="m", prompt_tokens=5, completion_tokens=2))
        record.usage(Usage(model="m", prompt_tokens=7, completion_tokens=1))
        record.run_id("trace-7")
        record.event("limit-reached", data={"limit": float("inf")})
        return "x"

    attempt = await played(agent)
    assert attempt.usage == Usage(model="m", prompt_tokens=12, completion_tokens=3)
    assert attempt.run_ids == ("trace-7",)
    assert told(attempt)[0]["data"] == {"limit": "inf"}


def test_outside_of_evals_nothing_happens() -> None:
    assert find_order(3, deep=True) == Order(-3)
    record.text("x")
    record.output(1, schema_id="x")
    record.interrupt(Interrupt(request_id="1", kind="text"))
    record.usage(Usage())
    record.tool_call("x").result(1)
    with record.tool("x") as call:
        call.error("no")
    assert not record.is_on


async def test_attempts_at_once_note_apart() -> None:
    async def agent(turn: Turn) -> str:
        with record.tool("mine", session=turn.session_id):
            await asyncio.sleep(0.005)
        return "x"

    run = await Evals(agent=agent, suites=[suite(step(tools=[{"name": "mine", "count": 1}]))]).run(
        repetitions=5, concurrency=5
    )
    assert run.status == "passed"
    for attempt in run.attempts:
        assert told(attempt)[0]["arguments"] == {"session": attempt.session_id}


async def test_what_is_no_json_is_noted_as_it_shows_itself() -> None:
    class Strange:
        def __repr__(self) -> str:
            return "<strange>"

    def agent(_turn: Turn) -> str:
        record.tool_call("x", {"a": Strange(), "b": {1, 2}, "c": "\ud800"}).result(object)
        return "x"

    first, second = told(await played(agent))
    assert first["arguments"] == {"a": "<strange>", "b": [1, 2], "c": "\ufffd"}
    assert second["result"] == repr(object)
