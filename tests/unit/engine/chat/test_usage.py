"""Usage as providers report it, and the estimate that stands in for it."""

from __future__ import annotations

from typing import Any

import pytest

from parley.engine.chat.pieces import Usage
from parley.engine.chat.usage import MAX_TOKENS, read_usage, usage_of
from parley.engine.messages import Message, Part, Reasoning, Refusal, Text, ToolCall, ToolResult


def read(raw: Any) -> tuple[tuple[int, int, int] | None, list[str]]:
    notes: list[str] = []
    usage = read_usage(raw, "m", notes.append)
    if usage is None:
        return None, notes
    assert usage.model == "m"
    assert not usage.estimated
    return (usage.prompt_tokens, usage.cached_prompt_tokens, usage.completion_tokens), notes


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param({"prompt_tokens": 9, "completion_tokens": 3}, (9, 0, 3), id="C057-no-details"),
        pytest.param(
            {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}},
            (9, 4, 3),
            id="C057-cached-is-a-part-of-prompt",
        ),
        pytest.param(
            {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 9}},
            (9, 9, 3),
            id="all-cached",
        ),
        pytest.param(
            {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": None}, (9, 0, 3), id="null"
        ),
        pytest.param(
            {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {}}, (9, 0, 3), id="empty"
        ),
        pytest.param(
            {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": "x"}, (9, 0, 3), id="odd"
        ),
        pytest.param({"prompt_tokens": 9, "completion_tokens": 3, "cached_tokens": 2}, (9, 2, 3), id="flat"),
        pytest.param(
            {
                "prompt_tokens": 9,
                "completion_tokens": 3,
                "prompt_cache_hit_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": 5},
            },
            (9, 2, 3),
            id="two-names-count-once",
        ),
        pytest.param(
            {"input_tokens": 9, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 1}},
            (9, 1, 3),
            id="other-names",
        ),
        pytest.param({"prompt_tokens": "9", "completion_tokens": "3"}, (9, 0, 3), id="strings"),
        pytest.param({"prompt_tokens": 9.0, "completion_tokens": 3.0}, (9, 0, 3), id="whole-floats"),
        pytest.param({"prompt_tokens": 9, "completion_tokens": 0}, (9, 0, 0), id="empty-answer"),
        pytest.param({"prompt_tokens": 0, "completion_tokens": 3}, (0, 0, 3), id="no-prompt"),
        pytest.param(
            {"prompt_tokens": MAX_TOKENS, "completion_tokens": str(MAX_TOKENS)},
            (MAX_TOKENS, 0, MAX_TOKENS),
            id="largest",
        ),
    ],
)
def test_usable_usage_is_taken_as_reported(raw: Any, expected: tuple[int, int, int]) -> None:
    assert read(raw) == (expected, [])


@pytest.mark.parametrize(
    "value",
    [
        None,
        -1,
        1.5,
        "-1",
        "1.5",
        "",
        "x",
        "٣",
        "9" * 11,
        MAX_TOKENS + 1,
        True,
        [],
        float("inf"),
        float("nan"),
    ],
)
@pytest.mark.parametrize("name", ["prompt_tokens", "completion_tokens"])
def test_unusable_number_makes_usage_ignored_with_a_note(name: str, value: Any) -> None:
    raw = {"prompt_tokens": 9, "completion_tokens": 3, name: value}
    assert read(raw) == (None, ["usage without whole, positive numbers of tokens was ignored"])


def test_more_cached_than_prompt_is_clamped_with_a_note() -> None:
    usage, notes = read({"prompt_tokens": 9, "completion_tokens": 3, "cached_tokens": 10})
    assert usage == (9, 9, 3)
    assert notes == [
        "more cached tokens than prompt tokens were reported; all of the prompt counts as cached"
    ]


def test_unusable_cached_number_is_ignored_with_a_note() -> None:
    usage, notes = read({"prompt_tokens": 9, "completion_tokens": 3, "cached_tokens": -1})
    assert usage == (9, 0, 3)
    assert notes == ["a number of cached tokens that is not whole and positive was ignored"]


def test_zero_tokens_are_no_report() -> None:
    assert read({"prompt_tokens": 0, "completion_tokens": 0}) == (None, ["usage of zero tokens was ignored"])


@pytest.mark.parametrize("raw", [[], "9", 9, True])
def test_usage_that_is_no_object_is_ignored_with_a_note(raw: Any) -> None:
    assert read(raw) == (None, ["usage that is not an object was ignored"])


def test_reported_usage_is_used_unchanged() -> None:
    reported = Usage(model="their-name", prompt_tokens=1, completion_tokens=2)
    assert usage_of(reported, model="m", messages=[], parts=[Text(text="long" * 100)]) is reported


def test_missing_usage_is_estimated_and_marked() -> None:
    """C055."""
    call = ToolCall(id="c", name="find", arguments="{}")
    messages = [
        Message(role="user", content="12345678"),
        Message(role="user", content=[{"type": "text", "text": "1234"}]),
        Message(role="assistant", tool_calls=(call,)),
        Message(role="tool", content="1", tool_call_id="c"),
    ]
    parts: list[Part] = [
        Reasoning(text="1234"),
        Text(text="1234567"),
        Refusal(text="123"),
        call,
        ToolResult(id="c", name="find", content="not the llm's words"),
    ]
    assert usage_of(None, model="m", messages=messages, parts=parts) == Usage(
        model="m", prompt_tokens=5, completion_tokens=5, estimated=True
    )


def test_estimate_of_nothing_is_zero_and_of_one_character_one() -> None:
    usage = usage_of(None, model="m", messages=[], parts=[Text(text="x")])
    assert (usage.prompt_tokens, usage.completion_tokens) == (0, 1)
