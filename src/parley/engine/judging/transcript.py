"""The talk as the judge reads it: one JSON object a line, so that no text can pass for another line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from json.encoder import encode_basestring
from typing import TypeAlias

from parley.engine.capped import capped
from parley.engine.events import AssistantSpoke
from parley.engine.messages import Message, Reasoning, Refusal, Text, ToolCall, ToolResult, words_of
from parley.engine.spec import Spec
from parley.engine.talk import Exchange

MAX_WORDS_CHARS = 32_000
"""Characters told of one message: as many as a goal may have, far above a real answer."""
MAX_TOOL_CHARS = 8_000
"""Characters told of one tool call's arguments or result: some thousand tokens of the judge's room."""
MAX_NAME_CHARS = 200
"""Characters told of a tool's name or a call's id."""
MAX_TRANSCRIPT_CHARS = 240_000
"""Characters of the whole talk: some 60,000 tokens, which every judge in use has room for beside the rest."""
_LEVELS = tuple(int(MAX_WORDS_CHARS * 0.75**step) for step in range(18))
"""Common lengths that texts are cut to, until the talk fits: coarse steps, so that from turn to turn the
same cut mostly stays and a provider's prompt cache helps."""

_Told: TypeAlias = dict[str, str | int]

# Line ends that are legal inside JSON but end a line for some readers.
_LINE_ENDS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def transcript(spec: Spec, exchanges: Sequence[Exchange], most: int = MAX_TRANSCRIPT_CHARS) -> str:
    """The whole talk in order, `start` as turn 0, within `most` characters. Empty without any line.

    A talk that is too long loses from its longest texts first: all are cut to one common length, and what is
    shorter stays whole. If lines alone are too many, those in the middle are left out, with a line that says
    how many. The gateway's reasoning is left out: it is never said to the user.
    """
    for level in _LEVELS:
        lines = _within(_lines(spec, exchanges, level), most)
        if lines is not None:
            return "\n".join(lines)
    return "\n".join(_without_middle(list(_lines(spec, exchanges, _LEVELS[-1])), most))


def _within(lines: Iterator[str], most: int) -> list[str] | None:
    """The lines, or None as soon as they are longer than `most` with their line ends."""
    found = []
    for line in lines:
        most -= len(line) + 1
        if most < -1:
            return None
        found.append(line)
    return found


def _without_middle(lines: list[str], most: int) -> list[str]:
    """A quarter of the room for how the talk began, the rest for where it stands now."""
    room = most - 100  # for the line that tells of the others
    first = _fitting(lines, room // 4)
    last = _fitting(lines[:first:-1], room - room // 4)
    told = f'{{"lines_left_out": {len(lines) - first - last}}}'
    return [*lines[:first], told, *lines[len(lines) - last :]]


def _fitting(lines: Sequence[str], room: int) -> int:
    """How many of the first lines fit."""
    for count, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            return count
    return len(lines)


def _lines(spec: Spec, exchanges: Sequence[Exchange], level: int) -> Iterator[str]:
    names: dict[str, str] = {}
    for message in spec.start:
        names.update((call.id, call.name) for call in message.tool_calls)
        for told in _of_message(message, names, level):
            yield _line(0, told)
    for exchange in exchanges:
        for told in _of_exchange(exchange, level):
            yield _line(exchange.turn, told)


def _of_message(message: Message, names: dict[str, str], level: int) -> Iterator[_Told]:
    words = words_of(message)
    if message.role == "tool":
        call_id = message.tool_call_id or ""
        name = names.get(call_id, message.name or "")
        yield _result(ToolResult(id=call_id, name=name, content=words), level)
        return
    if words or not message.tool_calls:
        yield {"from": message.role, **_capped_field("text", words, level)}
    for call in message.tool_calls:
        yield _call(call, level)


def _of_exchange(exchange: Exchange, level: int) -> Iterator[_Told]:
    if words := exchange.user_text:
        yield {"from": "user", **_capped_field("text", words, level)}
    if exchange.exited:
        yield {"from": "user", "event": "will leave the conversation after this turn"}
    for spoken in exchange.rounds:
        yield from _of_round(spoken, level)


def _of_round(spoken: AssistantSpoke, level: int) -> Iterator[_Told]:
    is_silent = True
    for part in spoken.parts:
        match part:
            case Text():
                yield {"from": "assistant", **_capped_field("text", part.text, level)}
            case Refusal():
                yield {"from": "assistant", **_capped_field("refusal", part.text, level)}
            case ToolCall():
                yield _call(part, level)
            case ToolResult():
                yield _result(part, level)
            case Reasoning():
                continue
        is_silent = False
    if is_silent:
        yield {"from": "assistant", "text": "", "event": "answered without any words"}
    if spoken.truncated:
        yield {"from": "assistant", "event": "this answer was cut off by its token limit"}


def _call(call: ToolCall, level: int) -> _Told:
    return {
        "from": "assistant",
        "calls_tool": call.name[:MAX_NAME_CHARS],
        "call_id": call.id[:MAX_NAME_CHARS],
        **_capped_field("arguments", call.arguments, min(level, MAX_TOOL_CHARS)),
    }


def _result(result: ToolResult, level: int) -> _Told:
    return {
        "from": "tool",
        "result_of": result.name[:MAX_NAME_CHARS],
        "call_id": result.id[:MAX_NAME_CHARS],
        **_capped_field("content", result.content, min(level, MAX_TOOL_CHARS)),
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
