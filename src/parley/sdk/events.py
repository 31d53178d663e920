"""What a conversation's stream tells, typed. The types of the wire stand in docs/reference/events.md.

`event.data` is one of the classes here; a type that this release does not know comes as `Unknown`, so
that a newer service does not stop an older client.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from parley.sdk.errors import StreamBroken
from parley.sdk.frames import Message

_PLAIN: Mapping[str, Any] = {"str": str, "int": int, "float": int | float, "bool": bool}
"""What fields of these types may hold; more than that is not looked at."""
Speaker: TypeAlias = Literal["user", "assistant", "judge"]


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn begins; `max_remaining_turns` counts it."""

    turn_number: int
    max_remaining_turns: int


@dataclass(frozen=True, slots=True)
class MessageStarted:
    """A message begins anew: what came since the start before it was an attempt that failed."""

    role: Speaker


@dataclass(frozen=True, slots=True)
class Reasoning:
    """More of what the speaker thinks."""

    role: Speaker
    text: str


@dataclass(frozen=True, slots=True)
class Content:
    """More of what the speaker says."""

    role: Speaker
    text: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """More of a refusal of the gateway."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The gateway calls a tool; `arguments` is the text it wrote and may not be JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolAnswered:
    """The result of a call."""

    id: str
    name: str
    content: str


@dataclass(frozen=True, slots=True)
class MessageEnded:
    """A message is whole."""

    role: Speaker


@dataclass(frozen=True, slots=True)
class UserLeft:
    """The simulated user ends the conversation."""

    reason: str


@dataclass(frozen=True, slots=True)
class JudgeStarted:
    """The judge reads the conversation."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the judge says at a turn, with the arithmetic behind it. `passed` is false on a loss only."""

    reasoning: str
    score: float
    passed: bool
    should_continue: bool
    state: str
    turn_delta: float
    conversation_delta: float
    loss_streak: int
    required_loss_streak: int


@dataclass(frozen=True, slots=True)
class JudgeEnded:
    """The judge is done with this turn."""


@dataclass(frozen=True, slots=True)
class UsageUpdated:
    """Tokens of one inference; cached ones are part of the prompt's."""

    role: Speaker
    prompt_tokens: int
    cached_prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Failed:
    """An attempt failed. Without `will_retry` the conversation is over, and this is its last event."""

    error: str
    code: str
    scope: str
    will_retry: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """The verdict, and the last event. `score` is None where there was no opinion."""

    outcome: str
    reason: str
    state: str
    turn_number: int
    conversation_delta: float
    loss_streak: int
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """A type that this release does not know, as it was sent."""

    data: Mapping[str, Any]


Told: TypeAlias = (
    TurnStarted
    | MessageStarted
    | Reasoning
    | Content
    | Refusal
    | ToolCalled
    | ToolAnswered
    | MessageEnded
    | UserLeft
    | JudgeStarted
    | Opinion
    | JudgeEnded
    | UsageUpdated
    | Failed
    | Ended
    | Unknown
)


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `id` is its place in the stream, `type` its name on the wire."""

    id: str
    type: str
    timestamp_ms: int
    data: Told

    @property
    def is_last(self) -> bool:
        """Whether nothing follows."""
        match self.data:
            case Ended():
                return True
            case Failed(will_retry=will_retry):
                return not will_retry
        return False


def read_event(message: Message) -> Event:
    """An event from its message. Raises `StreamBroken` if it is not one."""
    try:
        content = json.loads(message.data)
        name, data = content["event"]["type"], content["event"]["data"]
        return Event(message.id, str(name), int(content["timestamp"]), _told(str(name), data))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise StreamBroken(f"The stream holds something that is no event: {message.data[:200]!r}.") from error


def _told(name: str, data: Mapping[str, Any]) -> Told:
    read = READERS.get(name)
    return Unknown(data) if read is None else read(data)


def _opinion(data: Mapping[str, Any]) -> Opinion:
    result = dict(data["result"])
    return cast(Opinion, _built(Opinion, result | {"passed": result["pass"]}))


def _usage(data: Mapping[str, Any]) -> UsageUpdated:
    return cast(UsageUpdated, _built(UsageUpdated, {"role": data["role"], **data["usage"]}))


def _built(kind: type[Any], data: Mapping[str, Any]) -> Any:
    """One of the classes above; fields that it does not know are left out."""
    given = {name: data[name] for name in kind.__dataclass_fields__ if name in data}
    for name, value in given.items():
        if not isinstance(value, _PLAIN.get(kind.__dataclass_fields__[name].type, object)):
            raise TypeError(name)
    return kind(**given)


def _of(kind: type[Any]) -> Callable[[Mapping[str, Any]], Told]:
    return lambda data: cast(Told, _built(kind, data))


def _words(kind: type[Reasoning | Content], role: Speaker, field: str) -> Callable[[Mapping[str, Any]], Told]:
    def read(data: Mapping[str, Any]) -> Told:
        return kind(role, _text(data[field]))

    return read


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


READERS: Mapping[str, Callable[[Mapping[str, Any]], Told]] = {
    "chat.start": _of(TurnStarted),
    "chat.user_message.start_generation": lambda _: MessageStarted("user"),
    "chat.user_message.reasoning": _words(Reasoning, "user", "reasoning_content"),
    "chat.user_message.content": _words(Content, "user", "content"),
    "chat.user_message.end_generation": lambda _: MessageEnded("user"),
    "chat.user_message.end_conversation": _of(UserLeft),
    "chat.assistant_message.start_generation": lambda _: MessageStarted("assistant"),
    "chat.assistant_message.reasoning": _words(Reasoning, "assistant", "reasoning_content"),
    "chat.assistant_message.content": _words(Content, "assistant", "content"),
    "chat.assistant_message.refusal": lambda data: Refusal(_text(data["refusal"])),
    "chat.assistant_message.tool_call": _of(ToolCalled),
    "chat.assistant_message.tool_result": _of(ToolAnswered),
    "chat.assistant_message.end_generation": lambda _: MessageEnded("assistant"),
    "chat.judge.turn_analysis_start": lambda _: JudgeStarted(),
    "chat.judge.turn_analysis_result_ready": _opinion,
    "chat.judge.turn_analysis_end": lambda _: JudgeEnded(),
    "usage_updated": _usage,
    "unhandled_error": _of(Failed),
    "chat.validation.end": _of(Ended),
}
"""How each type of the wire is read."""
