"""An OpenAI-style client loop as an agent: tools, pauses, errors, usage; sync and async clients."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from parley.sdk.evals import AttemptRecord, Evals, Pause, chat_agent, recorded_tool
from parley.sdk.evals.tool_schema import tool_schema
from tests.unit.sdk_evals.stage import pausing, resuming, step, suite


def says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def calls(*wanted: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": f"c{n}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for n, (name, arguments) in enumerate(wanted)
        ],
    }


class Client:
    """Answers in order, and remembers what it was sent."""

    def __init__(self, *messages: dict[str, Any]) -> None:
        self.messages = list(messages)
        self.requests: list[dict[str, Any]] = []

    def create(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        usage = {"prompt_tokens": 10, "completion_tokens": 2}
        return {"model": "m-1", "usage": usage, "choices": [{"message": self.messages.pop(0)}]}

    async def create_async(self, **request: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        return self.create(**request)


def find_order(id: int) -> dict[str, Any]:
    """Find an order."""
    if id == 0:
        raise LookupError("no such order")
    return {"id": id, "state": "sent"}


def refund(id: int, sum: float = 5.0) -> str:
    """Refund an order."""
    raise Pause(question=f"Refund {sum} for {id}?", kind="choice", options={"yes": "Yes", "no": "No"})


async def played(agent: Any, *steps: Any) -> AttemptRecord:
    run = await Evals(agent=agent, suites=[suite(*steps)]).run()
    return run.attempts[0]


@pytest.mark.parametrize("is_async", [False, True])
async def test_tools_are_called_and_their_results_go_back(is_async: bool) -> None:
    client = Client(calls(("find_order", {"id": 17})), says("It is sent."), says("Bye."))
    create = client.create_async if is_async else client.create
    agent = chat_agent(create, model="m", tools=[find_order], system="You sell shoes.", temperature=0.2)
    attempt = await played(
        agent, step(tools=[{"name": "find_order", "arguments": {"id": 17}}]), step("Thanks.")
    )
    assert attempt.status == "passed"
    first, second, third = client.requests
    assert (first["model"], first["temperature"]) == ("m", 0.2)
    assert [one["role"] for one in second["messages"]] == ["system", "user", "assistant", "tool"]
    assert json.loads(second["messages"][-1]["content"]) == {"id": 17, "state": "sent"}
    assert [one["role"] for one in third["messages"]][-2:] == ["assistant", "user"]
    assert attempt.usage is not None
    assert (attempt.usage.model, attempt.usage.prompt_tokens) == ("m-1", 30)


async def test_tool_that_fails_is_told_to_the_llm_and_noted() -> None:
    client = Client(calls(("find_order", {"id": 0}), ("look", {})), says("There is none."))
    attempt = await played(chat_agent(client.create, model="m", tools=[find_order]), step())
    observation = attempt.steps[0].observation
    assert observation is not None
    assert [event.error for event in observation.events if event.type == "tool-call-error"] == [
        "LookupError: no such order", "LookupError: there is no tool look",
    ]  # fmt: skip
    assert "no such order" in client.requests[1]["messages"][-2]["content"]


async def test_tool_may_pause_and_the_answer_is_its_result() -> None:
    client = Client(calls(("refund", {"id": 17}), ("find_order", {"id": 3})), says("Refunded."))
    agent = chat_agent(client.create, model="m", tools=[find_order, refund])
    attempt = await played(
        agent,
        pausing(tools=[{"name": "refund"}]),
        resuming({"type": "select", "ids": ["yes"]}, tools=[{"name": "find_order", "count": 1}]),
    )
    assert attempt.status == "passed", attempt.wire()
    sent = client.requests[1]["messages"]
    assert [(one["role"], one.get("tool_call_id")) for one in sent[-2:]] == [("tool", "c0"), ("tool", "c1")]
    assert json.loads(sent[-2]["content"]) == ["yes"]


async def test_loop_without_end_is_bounded_and_says_so() -> None:
    client = Client(*[calls(("find_order", {"id": 1}))] * 3)
    attempt = await played(chat_agent(client.create, model="m", tools=[find_order], max_rounds=3), step())
    assert attempt.status == "failed"
    assert attempt.steps[0].observation is not None
    assert attempt.steps[0].observation.events[-1].type == "limit-reached"


async def test_attempts_do_not_share_their_talk() -> None:
    client = Client(*[says("Hello.")] * 3)
    evals = Evals(agent=chat_agent(client.create, model="m"), suites=[suite(step())])
    await evals.run(repetitions=3)
    assert [len(request["messages"]) for request in client.requests] == [1, 1, 1]


def test_tool_s_schema_comes_from_its_signature() -> None:
    assert tool_schema("refund", refund) == {
        "type": "function",
        "function": {
            "name": "refund",
            "description": "Refund an order.",
            "parameters": {
                "type": "object",
                "properties": {
                    "id": {"title": "Id", "type": "integer"},
                    "sum": {"title": "Sum", "type": "number", "default": 5.0},
                },
                "required": ["id"],
            },
        },
    }


async def test_recorded_tools_are_noted_once_and_a_pause_is_no_error_of_theirs() -> None:
    client = Client(calls(("find_order", {"id": 17}), ("refund", {"id": 17})), says("Refunded."))
    agent = chat_agent(client.create, model="m", tools=[recorded_tool(find_order), recorded_tool(refund)])
    once = [{"name": "find_order", "count": 1}, {"name": "refund", "count": 1}]
    attempt = await played(agent, pausing(tools=once), resuming({"type": "text", "text": "Yes."}))
    assert attempt.status == "passed", attempt.wire()
    kinds = [event.type for step in attempt.steps if step.observation for event in step.observation.events]
    assert "tool-call-error" not in kinds


async def test_recorded_tool_may_pause_outside_of_a_chat_agent() -> None:
    def agent(turn: Any) -> Any:
        return recorded_tool(refund)(17) if turn.kind == "message" else "Done."

    attempt = await played(
        agent, pausing(tools=[{"name": "refund"}]), resuming({"type": "text", "text": "x"})
    )
    assert attempt.status == "passed"
    observation = attempt.steps[0].observation
    assert observation is not None
    assert "tool-call-error" not in [event.type for event in observation.events]
