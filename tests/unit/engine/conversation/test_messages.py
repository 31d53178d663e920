"""What was said, as lines of a history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.engine.messages import (
    Message,
    Part,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
    ToolResult,
    history,
    joined,
    open_calls,
)


def call(number: int) -> ToolCall:
    return ToolCall(id=f"c{number}", name="find", arguments="{}")


def result(number: int, content: str = "found") -> ToolResult:
    return ToolResult(id=f"c{number}", name="find", content=content)


def text(words: str) -> Text:
    return Text(text=words)


def shape(lines: Sequence[Message]) -> list[str]:
    """Lines in short: what an assistant said and called, what was answered to which call."""
    return [
        f"{line.tool_call_id}={line.text}"
        if line.role == "tool"
        else f"{line.text}|{','.join(c.id for c in line.tool_calls)}"
        for line in lines
    ]


@pytest.mark.parametrize(
    ("parts", "lines"),
    [
        pytest.param([text("Hello"), text(" you")], ["Hello you|"], id="words are one line"),
        pytest.param([], ["|"], id="an empty answer is an empty line"),
        pytest.param([Reasoning(text="hm")], ["|"], id="thoughts are not sent"),
        pytest.param([Refusal(text="No.")], ["No.|"], id="a refusal is what was said"),
        pytest.param([text("Look"), call(1), result(1)], ["Look|c1", "c1=found"], id="call and result"),
        pytest.param(
            [call(1), result(1), text("Done")], ["|c1", "c1=found", "Done|"], id="words behind a result"
        ),
        pytest.param(
            [call(1), result(1), call(2), result(2)],
            ["|c1", "c1=found", "|c2", "c2=found"],
            id="one after the other",
        ),
        pytest.param(
            [call(1), call(2), result(2, "b"), result(1, "a")],
            ["|c1,c2", "c2=b", "c1=a"],
            id="side by side, as they came",
        ),
        pytest.param(
            [call(1), call(2), result(1, "a"), text("Meanwhile"), result(2, "b")],
            ["|c1,c2", "c1=a", "c2=b", "Meanwhile|"],
            id="a result behind words stands with its call",
        ),
        pytest.param(
            [call(1), call(2), result(2, "b"), text("Done"), result(1, "mock")],
            ["|c1,c2", "c2=b", "c1=mock", "Done|"],
            id="a call left open is answered in its place",
        ),
        pytest.param(
            [call(1), call(2), result(1, "a"), result(2, "b"), result(1, "c")],
            ["|c1,c2", "c1=ac", "c2=b"],
            id="pieces of one result are one line",
        ),
        pytest.param([result(9), text("Hm")], ["Hm|"], id="a result of no call is left out"),
    ],
)
def test_answer_becomes_history(parts: list[Part], lines: list[str]) -> None:
    assert shape(history(parts)) == lines


_ids = st.integers(min_value=0, max_value=3)
_parts = st.lists(
    st.one_of(
        st.builds(text, st.text(max_size=3)),
        st.builds(Refusal, text=st.text(max_size=3)),
        st.builds(Reasoning, text=st.text(max_size=3)),
        st.builds(result, _ids),
    )
)


@given(_parts, st.permutations([0, 1, 2, 3]), st.data())
def test_history_is_valid_whatever_was_streamed(
    parts: list[Part], order: list[int], data: st.DataObject
) -> None:
    """Every call is answered exactly once, before anybody says anything else."""
    for number in order[: data.draw(_ids)]:
        parts.insert(data.draw(st.integers(0, len(parts))), call(number))
    parts += [result(int(left.id[1:])) for left in open_calls(parts)]
    waiting: list[str] = []
    asked: list[str] = []
    for line in history(parts):
        if line.role == "tool":
            assert line.tool_call_id in waiting
            waiting.remove(line.tool_call_id or "")
            continue
        assert not waiting
        waiting = [c.id for c in line.tool_calls]
        asked += waiting
    assert not waiting
    assert asked == [part.id for part in parts if isinstance(part, ToolCall)]


@given(_parts)
def test_history_keeps_every_word(parts: list[Part]) -> None:
    said = "".join(part.text for part in parts if isinstance(part, Text | Refusal))
    assert "".join(line.text for line in history(parts) if line.role == "assistant") == said


class _ComparedId(str):
    """An id that counts how often it is compared with another."""

    __slots__ = ()
    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        _ComparedId.compared += 1
        return str.__eq__(self, other)


def test_many_calls_cost_their_number_not_its_square() -> None:
    """A gateway that streams thousands of calls must not hold up everybody else's conversations."""
    ids = [_ComparedId(f"c{number}") for number in range(500)]
    calls: list[Part] = [ToolCall(id=one, name="find", arguments="{}") for one in ids]
    results: list[Part] = [ToolResult(id=one, name="find", content="found") for one in ids]
    assert len(history([*calls, *results])) == 1 + len(ids)
    assert _ComparedId.compared < 10 * len(ids)


def test_open_calls_are_those_without_a_result() -> None:
    assert open_calls([call(1), result(1), call(2)]) == (call(2),)


def test_words_are_joined_by_kind() -> None:
    parts: list[Part] = [text("a"), Reasoning(text="b"), text("c"), call(1), Refusal(text="d")]
    assert [joined(parts, kind) for kind in ("content", "reasoning", "refusal")] == ["ac", "b", "d"]


def test_wire_form_of_a_line() -> None:
    line = Message(role="assistant", content="Look", tool_calls=(call(1),), name="bot")
    assert line.wire() == {
        "role": "assistant",
        "content": "Look",
        "name": "bot",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}],
    }
    assert Message(role="tool", content="x", tool_call_id="c1").wire() == {
        "role": "tool",
        "content": "x",
        "tool_call_id": "c1",
    }


def test_content_parts_are_sent_as_written_and_read_as_words() -> None:
    parts: list[dict[str, Any]] = [
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": {}},
        {"type": "text", "text": "b"},
    ]
    line = Message(role="user", content=parts)
    assert line.wire()["content"] == parts
    assert line.text == "ab"
