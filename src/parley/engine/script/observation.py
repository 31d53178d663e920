"""What a step gave: words, structured outputs, events in order, a pause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from parley.engine.script.shapes import Name
from parley.engine.script.wire import Json, Many, Wire

TEXT_DELTA: Final = "text-delta"
TOOL_ENDS: Final = ("tool-call-result", "tool-call-error", "tool-result")
StreamKey: TypeAlias = tuple[str, ...]


class Structured(Wire):
    """A structured output. While it is `streaming` its data is partial."""

    payloads: ClassVar[frozenset[str]] = frozenset({"data"})

    stream_id: Name | None = None
    data_type: Name | None = None
    schema_id: Name | None = None
    schema_version: Name | None = None
    status: Literal["done", "streaming"] = "done"
    data: Json = None


class Option(Wire):
    """Something that a pause offers."""

    id: Name
    label: str
    description: str | None = None


class Interrupt(Wire):
    """A pause: the agent waits for an answer. `request` is what a custom one asks for."""

    payloads: ClassVar[frozenset[str]] = frozenset({"request"})

    request_id: Name
    kind: Literal["text", "choice", "multi-choice", "custom"]
    question: str | None = None
    schema_id: Name | None = None
    schema_version: Name | None = None
    options: Many[Option] = ()
    request: Json = None


class AgentEvent(Wire):
    """One thing that happened within a step. Types that no judge may see are kept in the record alone."""

    payloads: ClassVar[frozenset[str]] = frozenset({"arguments", "result", "error", "data"})

    type: Name
    source: str | None = None
    text: str | None = None
    tool_name: str | None = None
    call_id: str | None = None
    arguments: Json = None
    result: Json = None
    error: Json = None
    stream_id: Name | None = None
    data_type: Name | None = None
    schema_id: Name | None = None
    schema_version: Name | None = None
    status: Literal["done", "streaming"] | None = None
    data: Json = None
    interrupt: Interrupt | None = None


Tokens: TypeAlias = Annotated[int, Field(ge=0, le=10**15)]


class Usage(Wire):
    """What was used, as far as it is known: absent is unknown, never free."""

    model: str | None = None
    prompt_tokens: Tokens | None = None
    cached_prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    cost_usd: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,9}(\.[0-9]{1,40})?$")] | None = None
    """A decimal, below a billion dollars."""


class Observation(Wire):
    """The whole of what one step gave."""

    type: Literal["answer", "interrupt", "error", "cancelled"]
    text: str = ""
    structured: Many[Structured] = ()
    events: Many[AgentEvent] = ()
    interrupt: Interrupt | None = None
    run_id: str | None = None
    usage: Usage | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Observation:
        if (self.interrupt is not None) != (self.type == "interrupt"):
            raise PydanticCustomError("interrupt", "must have an `interrupt` exactly when it is one")
        return self


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as it was begun, at its place among the events."""

    name: str
    arguments: Any
    at: int


def joined_deltas(events: Iterable[AgentEvent]) -> tuple[AgentEvent, ...]:
    """`events` with neighbouring text deltas of one source made one."""
    return tuple(_joined(events))


def _joined(events: Iterable[AgentEvent]) -> Iterator[AgentEvent]:
    words: list[str] = []
    first: AgentEvent | None = None
    for event in events:
        if first and event.type == TEXT_DELTA and event.source == first.source:
            words.append(event.text or "")
            continue
        if first:
            yield first.model_copy(update={"text": "".join(words)})
        first, words = (event, [event.text or ""]) if event.type == TEXT_DELTA else (None, [])
        if first is None:
            yield event
    if first:
        yield first.model_copy(update={"text": "".join(words)})


def tool_calls(events: Sequence[AgentEvent]) -> tuple[Call, ...]:
    """The calls in `events` in the order they began. An end whose beginning was not told counts as both."""
    begun = {event.call_id for event in events if event.type == "tool-call-start"}
    calls: list[Call] = []
    for at, event in enumerate(events):
        is_late = event.type in TOOL_ENDS and event.call_id is not None and event.call_id not in begun
        if event.tool_name and (event.type == "tool-call-start" or is_late):
            begun.add(event.call_id)
            calls.append(Call(event.tool_name, event.arguments, at))
    return tuple(calls)


def stream_key(item: Structured | AgentEvent) -> StreamKey:
    """What makes two envelopes versions of one output: the stream, or else the ids."""
    if item.stream_id:
        return ("stream", item.stream_id)
    return ("ids", item.data_type or "", item.schema_id or "", item.schema_version or "")


def invalidated_streams(events: Iterable[AgentEvent]) -> frozenset[StreamKey]:
    """The outputs whose latest event took them back."""
    latest: dict[StreamKey, str] = {}
    for event in events:
        if event.type in ("structured-data", "structured-data-invalidated"):
            latest[stream_key(event)] = event.type
    return frozenset(key for key, kind in latest.items() if kind == "structured-data-invalidated")


def completed_outputs(observation: Observation) -> tuple[Structured, ...]:
    """The outputs that are whole and were not taken back."""
    gone = invalidated_streams(observation.events)
    return tuple(
        output
        for output in observation.structured
        if output.status == "done" and stream_key(output) not in gone
    )


def interrupts_of(observation: Observation) -> tuple[Interrupt, ...]:
    """Every pause that was told, each request once."""
    told = [event.interrupt for event in observation.events if event.interrupt]
    if observation.interrupt:
        told.append(observation.interrupt)
    return tuple({one.request_id: one for one in told}.values())
