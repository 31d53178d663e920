"""What a scripted llm reads from a request."""

import orjson
import pytest

from parley.server.llm.demo.request import BadRequestError, ChatRequest, part_of, read_request


def request(llm: str, *roles: str, text: str = "hi", **fields: object) -> ChatRequest:
    messages = [{"role": role, "content": text} for role in roles]
    return read_request(orjson.dumps({"model": llm, "messages": messages, **fields}), {})


@pytest.mark.parametrize(
    ("llm", "part"), [("acme-user-2", "user"), ("judge", "judge"), ("demo-shop", "assistant")]
)
def test_part_is_told_by_the_name(llm: str, part: str) -> None:
    assert part_of(llm) == part


def test_assistants_turn_counts_user_messages_and_ignores_tool_rounds() -> None:
    assert request("shop", "system", "user", "assistant", "user").turn == 2
    assert request("shop", "user", "assistant", "tool").turn == 1


def test_users_turn_follows_its_own_earlier_messages() -> None:
    assert request("user", "system", "user").turn == 1
    assert request("user", "system", "user", "assistant", "user", "assistant", "user").turn == 3


@pytest.mark.parametrize(
    ("text", "turn"),
    [("This is turn 4; 6 remain.", 4), ('{"turn": 2} and {"turn": 3}', 3), ("max_turns 9", 1), ("Turn 1", 1)],
)
def test_judges_turn_is_read_from_its_prompt(text: str, turn: int) -> None:
    assert request("judge", "user", text=text).turn == turn


def test_content_parts_are_read_as_text() -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]}
    read = read_request(orjson.dumps({"model": "x", "messages": [message]}), {})
    assert read.first_user_text == "one two"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"{", "parse"),
        (b"[]", "object"),
        (b'{"messages": [{"role": "user"}]}', "model"),
        (b'{"model": "x", "messages": []}', "at least one"),
        (b'{"model": "x", "messages": ["hi"]}', "at least one"),
    ],
)
def test_bad_bodies_are_refused_with_the_reason(body: bytes, problem: str) -> None:
    with pytest.raises(BadRequestError, match=problem):
        read_request(body, {})


def test_forced_tool_is_the_named_or_the_first() -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in ("first", "second")]
    named = {"type": "function", "function": {"name": "second"}}
    free = request("shop", "user", tools=tools, tool_choice="auto")
    required = request("shop", "user", tools=tools, tool_choice="required")
    chosen = request("shop", "user", tools=tools, tool_choice=named)
    assert free.forced_tool is None
    assert required.forced_tool == {"name": "first"}
    assert chosen.forced_tool == {"name": "second"}
