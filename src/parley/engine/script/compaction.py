"""The observation as the judge gets it: without noise, every payload whole. Deterministic, idempotent."""

from __future__ import annotations

import typing
from collections.abc import Hashable, Iterator
from typing import Final, TypeAlias

from parley.engine.script.observation import (
    AgentEvent,
    Observation,
    StreamKey,
    Structured,
    invalidated_streams,
    stream_key,
)
from parley.engine.script.shapes import EventName

COMPACTION_VERSION: Final = "compact-1"
"""Changes with every change of what is kept."""
EVENT_NAMES: Final = frozenset(typing.get_args(EventName))
DATA: Final = "structured-data"
INVALIDATED: Final = "structured-data-invalidated"

_Envelope: TypeAlias = tuple[StreamKey, str | None, str | None, str | None, Hashable]


def compacted(observation: Observation) -> Observation:
    """`observation` for the judge's eyes.

    Kept are the words, tool events, errors, pauses and ends, in order. Each final output stands once,
    under `structured`; where an event carried the same, the event stays in its place without its data.
    Outputs that were replaced or taken back stand among the events. Deltas, partial outputs that an event
    carried, and routine events are dropped, and with them run id and usage, which prove nothing.
    """
    events = [event for event in with_invalidated_ids(observation) if _is_kept(event)]
    gone = invalidated_streams(observation.events)
    final = tuple(output for output in observation.structured if stream_key(output) not in gone)
    taken_back = [output for output in observation.structured if stream_key(output) in gone]
    return observation.model_copy(
        update={
            "structured": final,
            "events": tuple(_once(_with_taken_back(events, taken_back), final)),
            "run_id": None,
            "usage": None,
        }
    )


def with_invalidated_ids(observation: Observation) -> Iterator[AgentEvent]:
    """The events, each invalidation carrying the ids of what it takes back."""
    ids: dict[StreamKey, Structured | AgentEvent] = {stream_key(one): one for one in observation.structured}
    for event in observation.events:
        if event.type == DATA:
            ids[stream_key(event)] = event
        known = ids.get(stream_key(event)) if event.type == INVALIDATED else None
        yield event.model_copy(update=_missing_ids(event, known)) if known else event


def _missing_ids(event: AgentEvent, known: Structured | AgentEvent) -> dict[str, str | None]:
    names = ("data_type", "schema_id", "schema_version")
    return {name: getattr(event, name) or getattr(known, name) for name in names}


def _is_kept(event: AgentEvent) -> bool:
    return event.type in EVENT_NAMES and not (event.type == DATA and event.status == "streaming")


def _with_taken_back(events: list[AgentEvent], taken_back: list[Structured]) -> list[AgentEvent]:
    """What was taken back without an event of its own gets one, before the event that took it back."""
    told = {stream_key(event) for event in events if event.type == DATA and "data" in event.model_fields_set}
    untold: dict[StreamKey, list[AgentEvent]] = {}
    for output in taken_back:
        if stream_key(output) not in told:
            fields = {name: getattr(output, name) for name in output.model_fields_set}
            event = AgentEvent(type=DATA, **{**fields, "status": "done"})
            untold.setdefault(stream_key(output), []).append(event)
    whole: list[AgentEvent] = []
    for event in events:
        if event.type == INVALIDATED:
            whole += untold.pop(stream_key(event), ())
        whole.append(event)
    return whole


def _once(events: list[AgentEvent], final: tuple[Structured, ...]) -> Iterator[AgentEvent]:
    shown = {_envelope(output) for output in final}
    for event in events:
        if event.type == DATA and "data" in event.model_fields_set and _envelope(event) in shown:
            yield AgentEvent(**_fields_without_data(event))
        else:
            yield event


def _fields_without_data(event: AgentEvent) -> dict[str, typing.Any]:
    return {name: getattr(event, name) for name in event.model_fields_set if name != "data"}


def _envelope(item: Structured | AgentEvent) -> _Envelope:
    return (stream_key(item), item.data_type, item.schema_id, item.schema_version, _hashable(item.data))


def _hashable(data: object) -> Hashable:
    """Equal for equal JSON. Numbers become texts: many of one hash are easily made, and slow to find."""
    if isinstance(data, dict):
        return frozenset((name, _hashable(value)) for name, value in data.items())
    if isinstance(data, (list, tuple)):
        return ("[", *map(_hashable, data))
    if isinstance(data, int) or (isinstance(data, float) and data.is_integer()):
        return ("#", str(int(data)))
    return ("#", repr(data)) if isinstance(data, float) else data
