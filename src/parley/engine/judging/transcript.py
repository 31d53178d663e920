"""The talk as the judge reads it: one JSON object a line, so that no text can pass for another line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from json.encoder import encode_basestring
from typing import Any, TypeAlias

from parley.engine.events import AssistantSpoke
from parley.engine.messages import Message, Reasoning, Refusal, Text, ToolCall, ToolResult
from parley.engine.spec import Spec
from parley.engine.talk import Exchange

MAX_WORDS_CHARS = 32_000
"""Characters told of one message: as many as a goal may have, far above a real answer."""
MAX_TOOL_CHARS = 8_000
"""Characters told of one tool call's arguments or result: some thousand tokens of the judge's room."""

_Told: TypeAlias = dict[str, str | int]

# Line ends that are legal inside JSON but end a line for some readers.
_LINE_ENDS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def transcript(spec: Spec, exchanges: Sequence[Exchange]) -> str:
    """The whole talk in order, `start` as turn 0. Empty without any line.

    The gateway's reasoning is left out: it is never said to the user.
    """
    return "\n".join(_lines(spec, exchanges))


def capped(text: str, limit: int) -> tuple[str, int]:
    """`text` within about `limit` characters, and how many were left out of its middle.

    The gap is marked in the text. Beginning and end stay: results put their sums and errors there.
    """
    left_out = len(text) - limit
    if left_out <= 0:
        return text, 0
    head = limit * 3 // 4
    return f"{text[:head]}[... {left_out} characters left out ...]{text[head + left_out :]}", left_out


def words_of(message: Message) -> str:
    """The words of a history line; a content part that is not text is named in brackets."""
    if isinstance(message.content, str):
        return message.content
    return "".join(_words_of_part(part) for part in message.content)


def _words_of_part(part: dict[str, Any]) -> str:
    kind = part.get("type", "text")
    return str(part.get("text", "")) if kind == "text" else f"[{kind}, not shown here]"


def _lines(spec: Spec, exchanges: Sequence[Exchange]) -> Iterator[str]:
    names: dict[str, str] = {}
    for message in spec.start:
        names.update((call.id, call.name) for call in message.tool_calls)
        for told in _of_message(message, names):
            yield _line(0, told)
    for exchange in exchanges:
        for told in _of_exchange(exchange):
            yield _line(exchange.turn, told)


def _of_message(message: Message, names: dict[str, str]) -> Iterator[_Told]:
    words = words_of(message)
    if message.role == "tool":
        call_id = message.tool_call_id or ""
        yield _result(ToolResult(id=call_id, name=names.get(call_id, message.name or ""), content=words))
        return
    if words or not message.tool_calls:
        yield {"from": message.role, **_capped_field("text", words, MAX_WORDS_CHARS)}
    for call in message.tool_calls:
        yield _call(call)


def _of_exchange(exchange: Exchange) -> Iterator[_Told]:
    if words := exchange.user_text:
        yield {"from": "user", **_capped_field("text", words, MAX_WORDS_CHARS)}
    if exchange.exited:
        yield {"from": "user", "event": "will leave the conversation after this turn"}
    for spoken in exchange.rounds:
        yield from _of_round(spoken)


def _of_round(spoken: AssistantSpoke) -> Iterator[_Told]:
    is_silent = True
    for part in spoken.parts:
        match part:
            case Text():
                yield {"from": "assistant", **_capped_field("text", part.text, MAX_WORDS_CHARS)}
            case Refusal():
                yield {"from": "assistant", **_capped_field("refusal", part.text, MAX_WORDS_CHARS)}
            case ToolCall():
                yield _call(part)
            case ToolResult():
                yield _result(part)
            case Reasoning():
                continue
        is_silent = False
    if is_silent:
        yield {"from": "assistant", "text": "", "event": "answered without any words"}
    if spoken.truncated:
        yield {"from": "assistant", "event": "this answer was cut off by its token limit"}


def _call(call: ToolCall) -> _Told:
    return {
        "from": "assistant",
        "calls_tool": call.name,
        "call_id": call.id,
        **_capped_field("arguments", call.arguments, MAX_TOOL_CHARS),
    }


def _result(result: ToolResult) -> _Told:
    return {
        "from": "tool",
        "result_of": result.name,
        "call_id": result.id,
        **_capped_field("content", result.content, MAX_TOOL_CHARS),
    }


def _capped_field(name: str, text: str, limit: int) -> _Told:
    told, left_out = capped(text, limit)
    return {name: told, "characters_left_out": left_out} if left_out else {name: told}


def _line(turn: int, told: _Told) -> str:
    """The object as JSON, put together here: a general encoder takes three times as long."""
    fields = (
        f', "{name}": {encode_basestring(value) if isinstance(value, str) else value}'
        for name, value in told.items()
    )
    line = f'{{"turn": {turn}{"".join(fields)}}}'
    return line if line.isascii() else line.translate(_LINE_ENDS)
