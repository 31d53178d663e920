"""The messages a conversation starts with."""

from __future__ import annotations

from typing import Any

import pytest

from parley.server.definitions.faults import DefinitionRefused
from parley.server.definitions.read import read_definition
from parley.server.definitions.schemas import stored
from parley.server.definitions.start import message_of

LEAST: dict[str, Any] = {"name": "Refund", "gateway": "shop:1a2b", "goal": "Get a refund"}
HELLO = {"role": "user", "content": "Hello"}


def call(identity: str = "c1", **other: Any) -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": "find", "arguments": "{}"}} | other


def asks(*calls: dict[str, Any], **other: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)} | other


def result(identity: str = "c1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": "found"}


def blamed(lines: list[Any]) -> set[str]:
    try:
        read_definition(LEAST | {"start": lines})
    except DefinitionRefused as refused:
        return {fault.field for fault in refused.faults}
    return set()


SOUND: list[list[dict[str, Any]]] = [
    [HELLO],
    [{"role": "assistant", "content": "How can I help?"}],
    [HELLO, HELLO],
    [{"role": "user", "content": "Hi", "name": "Ann"}],
    [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look"},
                {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}},
            ],
        }
    ],
    [{"role": "assistant", "content": [{"type": "refusal", "refusal": "No"}]}],
    [HELLO, asks(call()), result()],
    [HELLO, asks(call(), content="One moment"), result(), {"role": "assistant", "content": "Found it"}],
    [asks(call("a"), call("b")), result("b"), result("a")],
    [asks(call()), result(), asks(call()), result()],
    [{"role": "assistant", "tool_calls": [call()]}, {**result(), "content": [{"type": "text", "text": "x"}]}],
]


@pytest.mark.parametrize("lines", SOUND)
def test_sound_start_is_kept_unchanged_and_in_order(lines: list[dict[str, Any]]) -> None:
    assert stored(read_definition(LEAST | {"start": lines}))["start"] == lines


@pytest.mark.parametrize(
    ("lines", "field"),
    [
        ([{"role": "system", "content": "Be nice"}], "start.0"),
        ([HELLO, {"role": "developer", "content": "Be nice"}], "start.1"),
        ([{"role": "narrator", "content": "x"}], "start.0"),
        (["Hello"], "start.0"),
        ([{"role": "user"}], "start.0.content"),
        ([{"role": "user", "content": None}], "start.0.content"),
        ([{"role": "user", "content": []}], "start.0.content"),
        ([{"role": "user", "content": [{"type": "refusal", "refusal": "x"}]}], "start.0.content.0"),
        (
            [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}],
            "start.0.content.0.image_url",
        ),
        ([{"role": "assistant", "content": None}], "start.0.content"),
        ([{"role": "assistant"}], "start.0.content"),
        ([asks(call(type="custom"))], "start.0.tool_calls.0.type"),
        ([asks(call(function={"name": "f", "arguments": {}}))], "start.0.tool_calls.0.function.arguments"),
        ([asks(call(""))], "start.0.tool_calls.0.id"),
        ([asks()], "start.0.tool_calls"),
        ([asks(call())], "start.0.tool_calls.0"),
        ([asks(call()), HELLO], "start.0.tool_calls.0"),
        ([asks(call("a"), call("b")), result("a")], "start.0.tool_calls.1"),
        ([asks(call()), HELLO, result()], "start.2.tool_call_id"),
        ([result()], "start.0.tool_call_id"),
        ([asks(call()), result(), result()], "start.2.tool_call_id"),
        ([asks(call()), result("c2")], "start.1.tool_call_id"),
        ([asks(call(), call()), result()], "start.0.tool_calls.1.id"),
        ([HELLO | {"refusal": None}], "start.0.refusal"),
    ],
)
def test_unsound_start_is_refused_at_the_line_at_fault(lines: list[Any], field: str) -> None:
    assert field in blamed(lines)


def test_line_becomes_a_message_with_the_same_wire_form() -> None:
    lines = [HELLO | {"name": "Ann"}, asks(call(), content="One moment"), result()]
    assert [message_of(line).wire() for line in lines] == lines


def test_call_without_words_becomes_a_message_without_words() -> None:
    assert message_of(asks(call())).wire() == asks(call(), content="")


@pytest.mark.parametrize("role", ["narrator", "", None, 7, []])
def test_unknown_role_is_refused_in_our_words(role: Any) -> None:
    with pytest.raises(DefinitionRefused) as caught:
        read_definition(LEAST | {"start": [{"role": role, "content": "x"}]})
    assert [fault.problem for fault in caught.value.faults] == [
        "must be a message with the role user, assistant or tool"
    ]
