"""What watchers of a conversation get, and when two of them got the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

from parley.engine.events import Entry, Event, Opened, Shown
from parley.server.conversation.narrate import Narrator, WireEvent
from parley.server.runs.watch import Place

Told: TypeAlias = list[tuple[str, Any]]

TEXT_KEYS = {"content", "reasoning_content", "refusal"}


def live(events: Sequence[Event], max_turns: int) -> list[WireEvent]:
    """The conversation as it is told while it happens."""
    narrator, told = Narrator(max_turns), list[WireEvent]()
    for event in events:
        told += narrator.delta(event, 0) if isinstance(event, Opened | Shown) else narrator.entry(event)
    return told


def replayed(entries: Sequence[Entry], max_turns: int) -> list[WireEvent]:
    """The conversation as it is told from what was kept."""
    return live(entries, max_turns)


def resumed(events: Sequence[Event], max_turns: int, last_id: str, *, hears_deltas: bool) -> list[WireEvent]:
    """What a watcher gets that has everything up to `last_id`, as `runs.watch` tells it."""
    place = Place.read(last_id)
    assert place is not None, f"{last_id} is a place"
    narrator, told = Narrator(max_turns), list[WireEvent]()
    if place.seq == 0:
        narrator.skip(place.told)
    for event in events:
        is_old = narrator.seq < place.seq
        if isinstance(event, Opened | Shown):
            if hears_deltas and not is_old:
                told += narrator.delta(event, 0)
            continue
        new = narrator.entry(event)
        if not is_old:
            told += new
        if narrator.seq == place.seq:
            narrator.skip(place.told)
    return told


def joined(events: Sequence[WireEvent]) -> Told:
    """Type and data of events, neighbouring text of one kind in one piece."""
    told: Told = []
    for event in events:
        key = next((key for key in event.data if key in TEXT_KEYS and len(event.data) == 1), None)
        if key and told and told[-1][0] == event.type:
            told[-1] = (event.type, {key: told[-1][1][key] + event.data[key]})
        else:
            told.append((event.type, event.data))
    return told


def without_abandoned_text(told: Told) -> Told:
    """Less everything said in attempts that were given up; their markers stay."""
    kept: Told = []
    start = 0
    for type_, data in told:
        if type_ == "unhandled_error":
            del kept[start:]
        kept.append((type_, data))
        if not _is_said(type_):
            start = len(kept)
    return kept


def _is_said(type_: str) -> bool:
    return type_.rsplit(".", 1)[-1] in {"content", "reasoning", "refusal", "tool_call", "tool_result"}


# The order of section 5, as letters

_TYPES = {
    "chat.start": "S",
    "chat.user_message.start_generation": "u",
    "chat.user_message.reasoning": "r",
    "chat.user_message.content": "c",
    "chat.user_message.end_generation": "e",
    "chat.user_message.end_conversation": "x",
    "chat.assistant_message.start_generation": "a",
    "chat.assistant_message.reasoning": "w",
    "chat.assistant_message.content": "w",
    "chat.assistant_message.refusal": "w",
    "chat.assistant_message.tool_call": "w",
    "chat.assistant_message.tool_result": "w",
    "chat.assistant_message.end_generation": "z",
    "chat.judge.turn_analysis_start": "j",
    "chat.judge.turn_analysis_result_ready": "J",
    "chat.judge.turn_analysis_end": "k",
    "chat.validation.end": "V",
}
_USAGE = {"user": "U", "assistant": "A", "judge": "G"}


def letters(told: Told) -> str:
    return "".join(_letter(type_, data) for type_, data in told)


def _letter(type_: str, data: dict[str, Any]) -> str:
    if type_ == "unhandled_error":
        return "!" if data["will_retry"] else "F"
    return _USAGE[data["role"]] if type_ == "usage_updated" else _TYPES[type_]


_GIVEN_UP_USER = r"(?:u[rc]*!)*"
_USER = rf"{_GIVEN_UP_USER}u[rc]+eU"
_LEAVES_SILENTLY = rf"{_GIVEN_UP_USER}ur?eUx"
_GIVEN_UP_ANSWER = r"(?:aw*!)*"
_ANSWER = rf"{_GIVEN_UP_ANSWER}aw*zA+"
_GIVEN_UP_OPINION = r"(?:j!)*"
_OPINION = rf"{_GIVEN_UP_OPINION}jJkG"
_LAST_TURN = rf"S(?:(?:{_USER}x?)?{_ANSWER}(?:{_OPINION})?|{_LEAVES_SILENTLY}{_OPINION})?"
_CUT_TURN = rf"S(?:{_USER}x?)?(?:{_ANSWER})?"
_FAILED_TURN = (
    rf"S(?:{_GIVEN_UP_USER}(?:u[rc]*)?|(?:{_USER}x?)?{_GIVEN_UP_ANSWER}(?:aw*)?"
    rf"|(?:(?:{_USER}x?)?{_ANSWER}|{_LEAVES_SILENTLY}){_GIVEN_UP_OPINION}j?)"
)
ORDER = re.compile(
    rf"(?:S{_ANSWER}(?:{_OPINION})?)?(?:S{_USER}{_ANSWER}(?:{_OPINION})?)*"
    rf"(?:(?:{_LAST_TURN}|{_CUT_TURN})?V|(?:{_FAILED_TURN})?F)"
)
"""The order of events, with attempts given up, to exactly one terminal event."""


def terminal(told: Told) -> Told:
    return [(t, d) for t, d in told if _letter(t, d) in "VF"]
