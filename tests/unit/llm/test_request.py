"""What an attempt sends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from parley.engine.messages import Message, ToolCall
from parley.engine.ports import AttemptOptions
from parley.server.llm.endpoint import NOTHING_FORWARDED, Forwarded, LlmEndpoint, LlmSettings
from parley.server.llm.request import (
    MORE_ROOM_TOKENS,
    completions_url,
    fixed_fields,
    request_body,
    request_headers,
)

HELLO = (Message(role="user", content="Hello"),)
PLAIN = AttemptOptions()


def endpoint_with(**settings: Any) -> LlmEndpoint:
    return LlmEndpoint(base_url="http://a.example/v1", model="m", settings=LlmSettings(**settings))


def body_of(
    endpoint: LlmEndpoint,
    *,
    forwarded: Forwarded = NOTHING_FORWARDED,
    messages: tuple[Message, ...] = HELLO,
    options: AttemptOptions = PLAIN,
) -> dict[str, Any]:
    fixed = fixed_fields(endpoint, forwarded)
    body: dict[str, Any] = json.loads(request_body(fixed, endpoint.system_instruction, messages, options))
    return body


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("http://a.example/v1", "http://a.example/v1/chat/completions"),
        ("http://a.example/v1/", "http://a.example/v1/chat/completions"),
        ("http://a.example/v1/chat/completions/", "http://a.example/v1/chat/completions"),
        ("http://a.example", "http://a.example/chat/completions"),
        ("http://a.example/x?api-version=2#f", "http://a.example/x/chat/completions?api-version=2"),
    ],
)
def test_completions_stand_under_the_base_url(base_url: str, url: str) -> None:
    assert completions_url(base_url) == url


def test_bare_request_streams_with_usage_and_nothing_else() -> None:
    assert body_of(endpoint_with()) == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "Hello"}],
    }


def test_settings_are_sent_as_given_also_when_they_are_zero() -> None:
    tool = {"type": "function", "function": {"name": "f"}}
    body = body_of(
        endpoint_with(
            temperature=0.0,
            top_p=0.0,
            max_completion_tokens=5,
            stop=("a", "b"),
            seed=0,
            reasoning_effort="low",
            tools=(tool,),
        )
    )
    sent = {"temperature", "top_p", "max_completion_tokens", "stop", "seed", "reasoning_effort", "tools"}
    assert {name: body[name] for name in sent} == {
        "temperature": 0.0,
        "top_p": 0.0,
        "max_completion_tokens": 5,
        "stop": ["a", "b"],
        "seed": 0,
        "reasoning_effort": "low",
        "tools": [tool],
    }


def test_extra_body_lies_over_settings_but_not_over_what_is_ours() -> None:
    extra = {"temperature": 1, "top_k": 3, "model": "x", "messages": [], "stream": False}
    body = body_of(endpoint_with(temperature=0.5, extra_body=extra))
    assert (body["temperature"], body["top_k"]) == (1, 3)
    assert (body["model"], body["stream"], len(body["messages"])) == ("m", True, 1)


def test_system_instruction_goes_before_all_messages() -> None:
    endpoint = LlmEndpoint(base_url="http://a.example", model="m", system_instruction="Be kind.")
    call = ToolCall(id="c1", name="f", arguments="{}")
    history = (
        Message(role="assistant", content="", tool_calls=(call,)),
        Message(role="tool", content="42", tool_call_id="c1"),
    )
    lines = body_of(endpoint, messages=history)["messages"]
    assert [line["role"] for line in lines] == ["system", "assistant", "tool"]
    assert lines[0]["content"] == "Be kind."
    assert lines[1]["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}


def test_schema_is_asked_for_strictly() -> None:
    schema = {"type": "object", "properties": {"score": {"type": "number"}}}
    asked = body_of(endpoint_with(), options=AttemptOptions(response_schema=schema))["response_format"]
    assert asked == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": schema},
    }


@pytest.mark.parametrize(
    ("settings", "field", "expected"),
    [
        ({"max_completion_tokens": 5}, "max_completion_tokens", MORE_ROOM_TOKENS),
        ({"max_completion_tokens": 5_000}, "max_completion_tokens", 20_000),
        ({"extra_body": {"max_tokens": 2_000}}, "max_tokens", 8_000),
        ({"extra_body": {"max_tokens": None}}, "max_tokens", None),
    ],
)
def test_more_room_widens_the_budget(settings: Mapping[str, Any], field: str, expected: int | None) -> None:
    """C010."""
    endpoint = endpoint_with(**settings)
    assert body_of(endpoint, options=AttemptOptions(more_room=True))[field] == expected
    assert body_of(endpoint)[field] != expected or expected is None


def test_more_room_invents_no_budget() -> None:
    body = body_of(endpoint_with(), options=AttemptOptions(more_room=True))
    assert "max_completion_tokens" not in body
    assert "max_tokens" not in body


def test_metadata_goes_where_the_gateway_wants_it() -> None:
    metadata = {"team": "m\u00fcnchen", "x": "a\nb"}
    endpoint = endpoint_with()
    in_body = Forwarded(metadata=metadata)
    assert body_of(endpoint, forwarded=in_body)["metadata"] == metadata
    assert "X-Parley-Metadata" not in request_headers(endpoint, in_body)

    in_headers = Forwarded(metadata=metadata, forward_metadata="headers")
    assert "metadata" not in body_of(endpoint, forwarded=in_headers)
    sent = request_headers(endpoint, in_headers)["X-Parley-Metadata"]
    assert sent.isascii()
    assert "\n" not in sent
    assert json.loads(sent) == metadata

    nowhere = Forwarded(metadata=metadata, forward_metadata="none")
    assert "metadata" not in body_of(endpoint, forwarded=nowhere)
    assert "X-Parley-Metadata" not in request_headers(endpoint, nowhere)


@pytest.mark.parametrize("forward", ["body", "headers", "none"])
def test_empty_metadata_is_never_sent(forward: Any) -> None:
    forwarded = Forwarded(metadata={}, forward_metadata=forward)
    assert "metadata" not in body_of(endpoint_with(), forwarded=forwarded)
    assert "X-Parley-Metadata" not in request_headers(endpoint_with(), forwarded)


def test_external_user_id_becomes_user() -> None:
    assert body_of(endpoint_with(), forwarded=Forwarded(external_user_id="u-1"))["user"] == "u-1"


def test_own_headers_replace_ours_whatever_their_case() -> None:
    endpoint = LlmEndpoint(
        base_url="http://a.example", model="m", api_key="k", headers={"user-agent": "mine", "X-Team": "t"}
    )
    headers = request_headers(endpoint, NOTHING_FORWARDED)
    assert headers["Authorization"] == "Bearer k"
    assert headers["User-Agent"] == "mine"
    assert headers["X-Team"] == "t"
    assert len({name.lower() for name in headers}) == len(headers)


def test_no_key_sends_no_authorization() -> None:
    assert "Authorization" not in request_headers(endpoint_with(), NOTHING_FORWARDED)


def test_body_that_the_fast_encoder_refuses_is_sent_all_the_same() -> None:
    body = body_of(endpoint_with(extra_body={"big": 2**70, "half": "\ud800"}))
    assert body["big"] == 2**70


def test_secrets_stay_out_of_the_repr() -> None:
    endpoint = LlmEndpoint(
        base_url="http://a.example", model="m", api_key="sk-1234", headers={"X-Key": "hush"}
    )
    assert "sk-1234" not in repr(endpoint)
    assert "hush" not in repr(endpoint)
    assert set(endpoint.secrets) == {"sk-1234", "hush"}
