"""The messages a conversation starts with: OpenAI-style lines, kept as they were sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
)
from pydantic_core import PydanticCustomError

from parley.engine.messages import Message, ToolCall
from parley.server.definitions.faults import SHAPE_TAG, Fault, path_of
from parley.server.definitions.shapes import AsSent
from parley.server.definitions.text import plain
from parley.server.definitions.words import TextPart

MOST_LINES = 100
"""Messages a conversation may start with (product contract)."""


def _by(field: str, shapes: Sequence[str]) -> Callable[[object], str | None]:
    """Chooses a shape by the value of `field`, in a raw object or a read one."""

    def choose(value: object) -> str | None:
        name = value.get(field) if isinstance(value, dict) else getattr(value, field, None)
        return SHAPE_TAG + name if isinstance(name, str) and name in shapes else None

    return choose


Payload: TypeAlias = Annotated[dict[str, Any], Field(min_length=1), BeforeValidator(plain)]


class ImagePart(AsSent):
    """A picture, passed on to the gateway; user and judge of ours do not see it."""

    type: Literal["image_url"]
    image_url: Payload


class AudioPart(AsSent):
    """A sound, passed on to the gateway; user and judge of ours do not hear it."""

    type: Literal["input_audio"]
    input_audio: Payload


class FilePart(AsSent):
    """A file, passed on to the gateway; user and judge of ours do not read it."""

    type: Literal["file"]
    file: Payload


class RefusalPart(AsSent):
    """A refusal the assistant gave."""

    type: Literal["refusal"]
    refusal: str


UserPart: TypeAlias = Annotated[
    Annotated[TextPart, Tag(SHAPE_TAG + "text")]
    | Annotated[ImagePart, Tag(SHAPE_TAG + "image_url")]
    | Annotated[AudioPart, Tag(SHAPE_TAG + "input_audio")]
    | Annotated[FilePart, Tag(SHAPE_TAG + "file")],
    Discriminator(
        _by("type", ("text", "image_url", "input_audio", "file")),
        custom_error_type="part_type",
        custom_error_message="must be a content part of type text, image_url, input_audio or file",
    ),
]
AssistantPart: TypeAlias = Annotated[
    Annotated[TextPart, Tag(SHAPE_TAG + "text")] | Annotated[RefusalPart, Tag(SHAPE_TAG + "refusal")],
    Discriminator(
        _by("type", ("text", "refusal")),
        custom_error_type="part_type",
        custom_error_message="must be a content part of type text or refusal",
    ),
]


def _content_shape(value: object) -> str | None:
    if isinstance(value, str):
        return SHAPE_TAG + "string"
    return SHAPE_TAG + "parts" if isinstance(value, list) else None


_content = Discriminator(
    _content_shape,
    custom_error_type="content_type",
    custom_error_message="must be a string or a list of content parts",
)
UserContent: TypeAlias = Annotated[
    Annotated[str, Tag(SHAPE_TAG + "string")]
    | Annotated[list[UserPart], Field(min_length=1), Tag(SHAPE_TAG + "parts")],
    _content,
]
AssistantContent: TypeAlias = Annotated[
    Annotated[str, Tag(SHAPE_TAG + "string")]
    | Annotated[list[AssistantPart], Field(min_length=1), Tag(SHAPE_TAG + "parts")],
    _content,
]
ToolContent: TypeAlias = Annotated[
    Annotated[str, Tag(SHAPE_TAG + "string")]
    | Annotated[list[TextPart], Field(min_length=1), Tag(SHAPE_TAG + "parts")],
    _content,
]


class CalledFunction(AsSent):
    """What a tool call asks for; `arguments` is the raw string, which may not be JSON."""

    name: Annotated[str, Field(min_length=1)]
    arguments: str


class CallLine(AsSent):
    """One tool call of an assistant's line."""

    id: Annotated[str, Field(min_length=1)]
    type: Literal["function"]
    function: CalledFunction


class UserLine(AsSent):
    """What the user said."""

    role: Literal["user"]
    content: UserContent
    name: str | None = None


class AssistantLine(AsSent):
    """What the gateway said, asked its tools for, or both."""

    role: Literal["assistant"]
    content: AssistantContent | None = None
    name: str | None = None
    tool_calls: Annotated[list[CallLine], Field(min_length=1)] | None = None


class ToolLine(AsSent):
    """The result of the tool call `tool_call_id`."""

    role: Literal["tool"]
    content: ToolContent
    tool_call_id: Annotated[str, Field(min_length=1)]
    name: str | None = None


def _no_system_line(value: object) -> object:
    if isinstance(value, dict) and value.get("role") in ("system", "developer"):
        raise PydanticCustomError(
            "system_line", "must not be a system message; the gateway's system_instruction is its place"
        )
    return value


StartLine: TypeAlias = Annotated[
    Annotated[UserLine, Tag(SHAPE_TAG + "user")]
    | Annotated[AssistantLine, Tag(SHAPE_TAG + "assistant")]
    | Annotated[ToolLine, Tag(SHAPE_TAG + "tool")],
    Discriminator(
        _by("role", ("user", "assistant", "tool")),
        custom_error_type="line_role",
        custom_error_message="must be a message with the role user, assistant or tool",
    ),
    BeforeValidator(_no_system_line),
]
LINE_NAMES: tuple[str, ...] = tuple(
    dict.fromkeys(
        name
        for shape in (UserLine, AssistantLine, ToolLine, CallLine, CalledFunction, TextPart, ImagePart)
        for name in shape.model_fields
    )
)
"""The names an unknown field of a line is compared with."""


def unlinked_calls(lines: Sequence[Mapping[str, Any]]) -> Iterator[Fault]:
    """Faults of lines that are sound one by one: silence, open calls, results without their call.

    The results of a line's calls stand directly behind it, each once, as providers want it.
    """
    waiting: dict[str, tuple[str | int, ...]] = {}
    for place, line in enumerate(lines):
        if line["role"] == "tool":
            if waiting.pop(line["tool_call_id"], None) is None:
                yield Fault(
                    field=path_of(("start", place, "tool_call_id")),
                    problem="is the result of a call that the assistant's line before it does not make",
                )
            continue
        yield from _still(waiting)
        waiting = {}
        if line["role"] == "assistant":
            yield from _repeated_ids(line, place)
            waiting = _calls_of(line, place)
            if not waiting and line.get("content") is None:
                yield Fault(
                    field=path_of(("start", place, "content")), problem="is required without tool calls"
                )
    yield from _still(waiting)


def _calls_of(line: Mapping[str, Any], place: int) -> dict[str, tuple[str | int, ...]]:
    calls = line.get("tool_calls") or ()
    return {call["id"]: ("start", place, "tool_calls", at) for at, call in enumerate(calls)}


def _repeated_ids(line: Mapping[str, Any], place: int) -> Iterator[Fault]:
    seen: set[str] = set()
    for at, call in enumerate(line.get("tool_calls") or ()):
        if call["id"] in seen:
            yield Fault(
                field=path_of(("start", place, "tool_calls", at, "id")), problem="repeats another call's id"
            )
        seen.add(call["id"])


def _still(waiting: Mapping[str, tuple[str | int, ...]]) -> Iterator[Fault]:
    for steps in waiting.values():
        yield Fault(field=path_of(steps), problem="is not answered by a tool message directly behind it")


def message_of(line: Mapping[str, Any]) -> Message:
    """A stored line as the conversation takes it."""
    content = line.get("content")
    return Message(
        role=line["role"],
        content="" if content is None else content,
        tool_calls=tuple(
            ToolCall(id=call["id"], name=call["function"]["name"], arguments=call["function"]["arguments"])
            for call in line.get("tool_calls") or ()
        ),
        tool_call_id=line.get("tool_call_id"),
        name=line.get("name"),
    )
