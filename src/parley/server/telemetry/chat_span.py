"""The span of one inference, `chat {llm}`, as the GenAI conventions name its attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.semconv.attributes.http_attributes import HTTP_RESPONSE_STATUS_CODE
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.util.types import AttributeValue

from parley.engine.chat.pieces import Closing
from parley.engine.events import Speaking
from parley.engine.messages import Message, Part, Reasoning, Refusal, Text, ToolCall
from parley.engine.ports import AttemptOptions
from parley.server.telemetry.tracing import Tracing

ROLE: Final = "parley.role"
"""Who speaks: user, assistant (the system under test) or judge."""
_PROVIDER: Final = "openai"
"""The API that is spoken; who stands behind it is not known."""


def begin_chat(
    tracing: Tracing, role: Speaking, llm: str, messages: Sequence[Message], options: AttemptOptions
) -> Span:
    """Begin the span of an attempt."""
    attributes: dict[str, AttributeValue] = {
        gen_ai.GEN_AI_OPERATION_NAME: "chat",
        gen_ai.GEN_AI_PROVIDER_NAME: _PROVIDER,
        gen_ai.GEN_AI_REQUEST_MODEL: llm,
        gen_ai.GEN_AI_REQUEST_STREAM: True,
        gen_ai.GEN_AI_OUTPUT_TYPE: "json" if options.response_schema else "text",
        ROLE: role,
    }
    if tracing.content:
        attributes[gen_ai.GEN_AI_INPUT_MESSAGES] = _json([_heard(message) for message in messages])
    return tracing.span(f"chat {llm}", SpanKind.CLIENT, attributes)


def answer_attributes(closing: Closing | None, first_piece_s: float | None) -> dict[str, AttributeValue]:
    """What an attempt brought, without its words."""
    found: dict[str, AttributeValue] = {}
    if first_piece_s is not None:
        found[gen_ai.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK] = first_piece_s
    if closing is None:
        return found
    found[gen_ai.GEN_AI_RESPONSE_FINISH_REASONS] = [closing.finish_reason]
    if closing.model:
        found[gen_ai.GEN_AI_RESPONSE_MODEL] = closing.model
    if closing.usage:
        found[gen_ai.GEN_AI_USAGE_INPUT_TOKENS] = closing.usage.prompt_tokens
        found[gen_ai.GEN_AI_USAGE_OUTPUT_TOKENS] = closing.usage.completion_tokens
        found[gen_ai.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS] = closing.usage.cached_prompt_tokens
    return found


def spoken(parts: Sequence[Part], closing: Closing | None) -> dict[str, AttributeValue]:
    """The words of an attempt."""
    reason = closing.finish_reason if closing else "error"
    line = {"role": "assistant", "parts": _joined(parts), "finish_reason": reason}
    return {gen_ai.GEN_AI_OUTPUT_MESSAGES: _json([line])}


def fail(span: Span, error_type: str, status: int | None = None) -> None:
    """Mark a span as failed. The fault's text stays out: it may quote what was said."""
    span.set_attribute(ERROR_TYPE, error_type)
    if status is not None:
        span.set_attribute(HTTP_RESPONSE_STATUS_CODE, status)
    span.set_status(Status(StatusCode.ERROR))


def _heard(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        part = {"type": "tool_call_response", "id": message.tool_call_id, "response": message.text}
        return {"role": "tool", "parts": [part]}
    parts: list[dict[str, Any]] = [{"type": "text", "content": message.text}] if message.text else []
    return {"role": message.role, "parts": [*parts, *map(_called, message.tool_calls)]}


def _joined(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Parts as the conventions write them; neighbouring words of one kind become one."""
    joined: list[dict[str, Any]] = []
    for part in parts:
        line = _line(part)
        if joined and "content" in line and joined[-1]["type"] == line["type"]:
            joined[-1]["content"] += line["content"]
        else:
            joined.append(line)
    return joined


def _line(part: Part) -> dict[str, Any]:
    match part:
        case Text() | Refusal():
            return {"type": "text", "content": part.text}
        case Reasoning():
            return {"type": "reasoning", "content": part.text}
        case ToolCall():
            return _called(part)
        case _:
            return {"type": "tool_call_response", "id": part.id, "response": part.content}


def _called(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
