"""What one answer may hold of tool calls and results: a hostile gateway must not cost more than its turn."""

from __future__ import annotations

import json
from typing import Any

from parley.engine.chat.calls import MAX_CALLS, MAX_NAME_CHARS
from parley.engine.chat.decoder import ChatDecoder
from parley.engine.chat.pieces import Closing
from parley.engine.messages import ToolCall, ToolResult


def decoded(*deltas: dict[str, Any]) -> list[Any]:
    decoder = ChatDecoder("m")
    frames = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    pieces = [
        piece for frame in frames for piece in decoder.feed(b"data: " + json.dumps(frame).encode() + b"\n\n")
    ]
    return [*pieces, *decoder.feed(b"data: [DONE]\n\n"), *decoder.close()]


def call(number: int, **about: Any) -> dict[str, Any]:
    return {"index": number, "id": f"c{number}", "function": {"name": "look", "arguments": "{}"}, **about}


def test_calls_beyond_the_bound_are_left_out_with_a_note() -> None:
    for at_once in (True, False):
        calls = [call(number) for number in range(MAX_CALLS + 5)]
        deltas = [{"tool_calls": calls}] if at_once else [{"tool_calls": [one]} for one in calls]
        *pieces, closing = decoded(*deltas)
        assert [piece.id for piece in pieces] == [f"c{number}" for number in range(MAX_CALLS)]
        assert isinstance(closing, Closing)
        assert any("tool calls" in note and "left out" in note for note in closing.notes)


def test_as_many_calls_as_the_bound_are_kept_without_a_note() -> None:
    *pieces, closing = decoded({"tool_calls": [call(number) for number in range(MAX_CALLS)]})
    assert len(pieces) == MAX_CALLS
    assert not any("left out" in note for note in closing.notes)


def test_results_beyond_the_bound_are_left_out_with_a_note() -> None:
    results = [{"tool_call_id": f"r{number}", "content": "x"} for number in range(MAX_CALLS + 5)]
    *pieces, closing = decoded({"tool_results": results})
    assert [piece.id for piece in pieces] == [f"r{number}" for number in range(MAX_CALLS)]
    assert any("tool results" in note and "left out" in note for note in closing.notes)


def test_ids_and_names_are_cut() -> None:
    long = "n" * 5_000
    *pieces, _ = decoded(
        {"tool_calls": [call(0, id=long, function={"name": long, "arguments": "{}"})]},
        {"tool_results": [{"tool_call_id": long, "name": long, "content": "x"}]},
    )
    cut = "n" * MAX_NAME_CHARS
    assert pieces == [ToolCall(id=cut, name=cut, arguments="{}"), ToolResult(id=cut, name=cut, content="x")]
