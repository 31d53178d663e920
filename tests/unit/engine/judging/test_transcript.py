"""The talk as the judge reads it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.engine.capped import capped
from parley.engine.judging.transcript import (
    MAX_TOOL_CHARS,
    MAX_WORDS_CHARS,
    transcript,
)
from parley.engine.messages import Message, Reasoning, Refusal, Text, ToolCall, ToolResult, words_of
from parley.engine.spec import Spec
from parley.engine.talk import Exchange
from tests.unit.engine.judging.talks import answered, exchange, said

CALL = ToolCall(id="c1", name="lookup", arguments='{"order": 7}')
RESULT = ToolResult(id="c1", name="lookup", content='{"state": "lost"}')


def lines(*exchanges: Exchange, start: tuple[Message, ...] = ()) -> list[dict[str, Any]]:
    text = transcript(Spec(goal="g", seed=1, start=start), exchanges)
    return [json.loads(line) for line in text.split("\n")] if text else []


def test_talk_is_told_in_order_with_its_turns() -> None:
    told = lines(
        exchange(1, "Hello", "Good day"),
        exchange(2, "Where is it?", answered(2, "One moment.", CALL, RESULT), answered(2, "Lost.", round=2)),
        start=(Message(role="assistant", content="Welcome!"),),
    )
    assert told == [
        {"turn": 0, "from": "assistant", "text": "Welcome!"},
        {"turn": 1, "from": "user", "text": "Hello"},
        {"turn": 1, "from": "assistant", "text": "Good day"},
        {"turn": 2, "from": "user", "text": "Where is it?"},
        {"turn": 2, "from": "assistant", "text": "One moment."},
        {
            "turn": 2,
            "from": "assistant",
            "calls_tool": "lookup",
            "call_id": "c1",
            "arguments": '{"order": 7}',
        },
        {"turn": 2, "from": "tool", "result_of": "lookup", "call_id": "c1", "content": '{"state": "lost"}'},
        {"turn": 2, "from": "assistant", "text": "Lost."},
    ]


def test_tool_traffic_before_the_test_is_told_with_its_names() -> None:
    """C047: the judge sees what a result was the answer to."""
    told = lines(
        start=(
            Message(role="user", content="Where is it?"),
            Message(role="assistant", content="", tool_calls=(CALL,)),
            Message(role="tool", content="lost", tool_call_id="c1"),
            Message(role="tool", content="odd", tool_call_id="c9", name="other"),
            Message(role="tool", content="odder"),
            Message(role="assistant", content="I see.", tool_calls=(CALL,)),
        )
    )
    assert [line.get("calls_tool") or line.get("result_of") or line.get("text") for line in told] == [
        "Where is it?",
        "lookup",
        "lookup",
        "other",
        None,
        "I see.",
        "lookup",
    ]
    assert [line["turn"] for line in told] == [0] * 7
    assert told[4] == {"turn": 0, "from": "tool", "result_of": "", "call_id": "", "content": "odder"}
    assert told[2] == {"turn": 0, "from": "tool", "result_of": "lookup", "call_id": "c1", "content": "lost"}


def test_long_tool_results_are_capped_with_a_mark() -> None:
    """C047: beginning and end stay, and the gap is told."""
    content = "A" * MAX_TOOL_CHARS + "B" * 500
    call = ToolCall(id="c1", name="lookup", arguments=content)
    for line in lines(
        exchange(1, None, answered(1, call, ToolResult(id="c1", name="lookup", content=content)))
    ):
        told = line["arguments"] if "arguments" in line else line["content"]
        assert line["characters_left_out"] == 500
        assert told.startswith("AAA")
        assert told.endswith("B" * 500)
        assert "[... 500 characters left out ...]" in told
        assert len(told) < MAX_TOOL_CHARS + 100


def test_long_words_are_capped_too() -> None:
    long = "A" * (MAX_WORDS_CHARS + 1)
    told = lines(
        exchange(1, long, answered(1, long, Refusal(text=long))), start=(Message(role="user", content=long),)
    )
    assert [line["characters_left_out"] for line in told] == [1, 1, 1, 1]


def test_what_fits_is_told_whole() -> None:
    assert capped("abcd", 4) == ("abcd", 0)
    assert capped("", 4) == ("", 0)
    assert capped("abcdefgh", 4) == ("abc[... 4 characters left out ...]h", 4)


def test_refusals_empty_and_cut_answers_are_visible_and_reasoning_is_not() -> None:
    told = lines(
        exchange(1, "a", answered(1, Refusal(text="I will not."))),
        exchange(2, "b", answered(2)),
        exchange(3, "c", answered(3, Reasoning(text="secret"))),
        exchange(4, "d", answered(4, Reasoning(text="secret"), "Half an ans", truncated=True)),
    )
    assert [line for line in told if line["from"] == "assistant"] == [
        {"turn": 1, "from": "assistant", "refusal": "I will not."},
        {"turn": 2, "from": "assistant", "text": "", "event": "answered without any words"},
        {"turn": 3, "from": "assistant", "text": "", "event": "answered without any words"},
        {"turn": 4, "from": "assistant", "text": "Half an ans"},
        {"turn": 4, "from": "assistant", "event": "this answer was cut off by its token limit"},
    ]


def test_thoughts_of_the_user_are_not_told_and_its_leaving_is() -> None:
    told = lines(
        exchange(1, said(1, "Bye", exited=True, thought="secret"), "Good bye"),
        exchange(2, said(2, "", exited=True)),
    )
    assert [(line["turn"], line["from"], line.get("text") or line.get("event")) for line in told] == [
        (1, "user", "Bye"),
        (1, "user", "will leave the conversation after this turn"),
        (1, "assistant", "Good bye"),
        (2, "user", "will leave the conversation after this turn"),
    ]


def test_empty_start_message_is_told_as_such() -> None:
    assert lines(start=(Message(role="assistant", content=""),)) == [
        {"turn": 0, "from": "assistant", "text": ""}
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ([{"text": "a"}], "a"),
        (
            [{"type": "text", "text": "see "}, {"type": "image_url", "image_url": {}}],
            "see [image_url, not shown here]",
        ),
        ([{"type": "text"}], ""),
    ],
)
def test_content_parts_are_joined_and_others_named(content: Any, words: str) -> None:
    assert words_of(Message(role="user", content=content)) == words


def test_line_ends_of_other_readers_are_escaped_and_other_letters_are_not() -> None:
    """C038, C095: a reader that ends lines at U+2028 must not see a line more."""
    talk = [exchange(1, "Gr\u00f6\u00dfe\u2028a\u2029b\x85c", "ok")]
    told = transcript(Spec(goal="g", seed=1), talk)
    assert len(told.splitlines()) == 2
    assert "Gr\u00f6\u00dfe\\u2028a\\u2029b\\u0085c" in told


@settings(deadline=None)
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=4))
def test_no_text_can_pass_for_another_line(texts: list[str]) -> None:
    """C038: whatever is said stays inside of its own line."""
    told = transcript(
        Spec(goal="g", seed=1), [exchange(1, None, answered(1, *(Text(text=t) for t in texts)))]
    )
    assert [json.loads(line)["text"] for line in told.splitlines()] == texts
