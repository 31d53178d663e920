"""Which part of an observation the judge sees: outputs first, copies inside events included, then events."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from parley.engine.script.compaction import DATA, EVENT_NAMES, INVALIDATED, compacted, with_invalidated_ids
from parley.engine.script.faults import PhaseFailed
from parley.engine.script.observation import AgentEvent, Observation, Structured
from parley.engine.script.shapes import EventSelection, Evidence, Named, OutputSelection, OutputSelector

Filter: TypeAlias = Callable[[dict[str, Any], Any], object]
"""A filter of the app: an isolated copy and its parameters to true or false; pure, never waiting."""
_Wants: TypeAlias = Callable[[Any], bool]


def selected(observation: Observation, policy: Evidence, filters: Mapping[str, Filter]) -> Observation:
    """The compact evidence of one step under an effective `policy`.

    Raises `PhaseFailed` (grading) for a filter that is unknown, throws, or does not answer true or false.
    """
    wants_output = _output_rule(policy.outputs, filters)
    events = [
        event
        for event in with_invalidated_ids(observation)
        if event.type not in (DATA, INVALIDATED) or wants_output(event)
    ]
    outputs = tuple(output for output in observation.structured if wants_output(output))
    compact = compacted(observation.model_copy(update={"events": tuple(events), "structured": outputs}))
    wants_event = _event_rule(policy.events, filters)
    return compact.model_copy(update={"events": tuple(filter(wants_event, compact.events))})


def named_filters(policy: Evidence) -> frozenset[str]:
    """The names of the filters that `policy` uses."""
    return frozenset(one.using for one in (policy.events, policy.outputs) if isinstance(one, Named))


def _output_rule(selection: OutputSelection | None, filters: Mapping[str, Filter]) -> _Wants:
    match selection:
        case None:
            return lambda _: True
        case Named():
            return lambda item: _asked(selection, filters, _as_output(item), "outputs")
        case False:
            return lambda _: False
    return lambda item: any(_fits(item, selector) for selector in selection)


def _event_rule(selection: EventSelection | None, filters: Mapping[str, Filter]) -> _Wants:
    match selection:
        case None:
            return lambda event: event.type in EVENT_NAMES
        case Named():
            return lambda event: _asked(selection, filters, event.wire(), "events")
        case False:
            return lambda _: False
    return lambda event: event.type in selection


def _fits(item: Structured | AgentEvent, selector: OutputSelector) -> bool:
    return all(
        wanted is None or getattr(item, name) == wanted
        for name, wanted in (
            ("data_type", selector.data_type),
            ("schema_id", selector.schema_id),
            ("schema_version", selector.schema_version),
        )
    )


def _as_output(item: Structured | AgentEvent) -> dict[str, Any]:
    """An output or an event's copy of one in the same shape, so that one filter decides on both alike."""
    told = item.wire()
    return {"status": "done", **{name: told[name] for name in told if name not in ("type", "source", "text")}}


def _asked(
    named: Named, filters: Mapping[str, Filter], item: dict[str, Any], what: Literal["events", "outputs"]
) -> bool:
    who = f"The filter {named.using!r} for {what}"
    if named.using not in filters:
        raise PhaseFailed("grading", "filter_unknown", f"{who} is not there.")
    try:
        answer = filters[named.using](copy.deepcopy(item), copy.deepcopy(named.params))
    except Exception as error:
        raise PhaseFailed("grading", "filter_raised", f"{who} raised {type(error).__name__}.") from error
    if not isinstance(answer, bool):
        told = f"{who} answered {type(answer).__name__}, not true or false."
        raise PhaseFailed("grading", "filter_no_boolean", told)
    return answer
