"""Tells a conversation in the events of the wire: live from deltas, or again from kept entries.

Both ways go through one narrator, so they tell the same. Every entry has one narration, a list of
*units* (a marker, a tool call, or one character of text each count one). Deltas tell the beginning of
the narration of the entry that comes next; the entry then tells whatever is left of it. A watcher's
place is therefore `seq:units` inside an entry, or `seq` once all of it is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from parley.engine.chat.pieces import Usage
from parley.engine.events import (
    SCOPES,
    AssistantSpoke,
    Delta,
    Ended,
    Entry,
    HookCalled,
    Opened,
    Opinion,
    Scope,
    Speaking,
    Spent,
    UserSpoke,
    Verdict,
)
from parley.engine.messages import Part, Reasoning, Refusal, Text, ToolCall, ToolResult
from parley.engine.spec import MAX_ROUNDS


@dataclass(frozen=True, slots=True)
class WireEvent:
    """One event as watchers get it. `id` is what `Last-Event-ID` brings back."""

    id: str
    type: str
    data: dict[str, Any]
    at_ms: int


@dataclass(frozen=True, slots=True)
class _Unit:
    type: str
    data: dict[str, Any]
    text_key: str | None = None

    @property
    def length(self) -> int:
        return len(self.data[self.text_key]) if self.text_key else 1

    def after(self, told: int) -> dict[str, Any]:
        """The data without the first `told` characters of its text."""
        if self.text_key is None or told <= 0:
            return self.data
        return {**self.data, self.text_key: self.data[self.text_key][told:]}


class Narrator:
    """One watcher's view of one conversation of at most `max_turns` turns."""

    def __init__(self, max_turns: int) -> None:
        self._max_turns = max_turns
        self.seq = 0
        self._turn = 0
        self._open: Speaking | None = None
        self._begins_anew = False
        self._kept_rounds: list[Part] = []
        self._usages: list[Usage] = []
        self._opening: list[_Unit] | None = None
        self._at = 0
        self._told = 0

    def skip(self, told: int) -> None:
        """The watcher already has `told` units of the entry that comes next."""
        self._told = told

    def delta(self, delta: Delta, at_ms: int) -> list[WireEvent]:
        """Tell what is shown now of the entry that comes next."""
        if isinstance(delta, Opened):
            self._at = 0
            return self._tell(self._opened(delta.role, delta.turn), at_ms)
        return self._tell([_part_unit(delta.role, delta.part)], at_ms)

    def entry(self, entry: Entry) -> list[WireEvent]:
        """Tell what is left of `entry`, which has just been kept."""
        self._at, at_ms = 0, _time_of(entry)
        events = self._tell(self._beginning(entry), at_ms)
        if _gives_up_words(entry):  # they are not told again, so all of them count as told
            self._at = self._told = max(self._at, self._told)
        events += self._tell(self._rest(entry), at_ms)
        self.seq += 1
        self._at = self._told = 0
        self._opening = None
        if events:
            events[-1] = replace(events[-1], id=str(self.seq))
        return events

    def _tell(self, units: Sequence[_Unit], at_ms: int) -> list[WireEvent]:
        events = []
        for unit in units:
            begin, self._at = self._at, self._at + unit.length
            if self._at > self._told:
                data = unit.after(self._told - begin)
                events.append(WireEvent(f"{self.seq + 1}:{self._at}", unit.type, data, at_ms))
                self._told = self._at
        return events

    def _beginning(self, entry: Entry) -> list[_Unit]:
        match entry:
            case UserSpoke():
                return self._opened("user", entry.turn)
            case AssistantSpoke():
                return self._opened("assistant", entry.turn)
            case Opinion():
                return self._opened("judge", entry.turn)
            case Spent(attempt=0):
                return self._turn_start(entry.turn)
            case Spent():
                return self._opened(entry.role, entry.turn)
            case HookCalled():
                return self._turn_start(entry.turn)
            case Ended():
                return []

    def _opened(self, role: Speaking, turn: int) -> list[_Unit]:
        """The markers before the words of an attempt; a message that begins anew repeats kept rounds."""
        if self._opening is None:
            self._opening = self._turn_start(turn)
            if role == "judge":
                self._opening.append(_Unit("chat.judge.turn_analysis_start", {}))
            elif self._open != role or self._begins_anew:
                self._opening.append(_Unit(f"chat.{role}_message.start_generation", {}))
                self._opening.extend(_part_unit(role, part) for part in self._kept_rounds)
            self._open, self._begins_anew = role, False
        return self._opening

    def _turn_start(self, turn: int) -> list[_Unit]:
        if turn <= self._turn:
            return []
        self._turn = turn
        remaining = self._max_turns - turn + 1
        return [_Unit("chat.start", {"turn_number": turn, "max_remaining_turns": remaining})]

    def _rest(self, entry: Entry) -> list[_Unit]:
        match entry:
            case UserSpoke():
                return self._user(entry)
            case AssistantSpoke():
                return self._assistant(entry)
            case Opinion():
                return self._opinion(entry)
            case Spent():
                return self._spent(entry)
            case HookCalled():
                return []
            case Ended():
                return self._ended(entry)

    def _user(self, entry: UserSpoke) -> list[_Unit]:
        units = [_part_unit("user", part) for part in entry.parts]
        self._usages.append(entry.usage)
        units += self._close_message()
        if entry.exited:
            reason = {"reason": "simulated_user_ended_conversation"}
            units.append(_Unit("chat.user_message.end_conversation", reason))
        return units

    def _assistant(self, entry: AssistantSpoke) -> list[_Unit]:
        units = [_part_unit("assistant", part) for part in entry.parts]
        self._kept_rounds.extend(entry.parts)
        self._usages.append(entry.usage)
        if not entry.awaits_round or entry.round >= MAX_ROUNDS:
            units += self._close_message()
        return units

    def _close_message(self) -> list[_Unit]:
        role = self._open
        units = [_Unit(f"chat.{role}_message.end_generation", {})]
        units += [_usage_unit(str(role), usage) for usage in self._usages]
        self._open, self._usages, self._kept_rounds = None, [], []
        return units

    def _opinion(self, entry: Opinion) -> list[_Unit]:
        self._open = None
        return [
            _Unit("chat.judge.turn_analysis_result_ready", {"result": opinion_result(entry)}),
            _Unit("chat.judge.turn_analysis_end", {}),
            _usage_unit("judge", entry.usage),
        ]

    def _spent(self, entry: Spent) -> list[_Unit]:
        self._begins_anew = True
        if not entry.will_retry:
            return []
        return [_error_unit(entry.error, entry.code, SCOPES[entry.role], will_retry=True)]

    def _ended(self, entry: Ended) -> list[_Unit]:
        if entry.verdict:
            closing = self._close_message() if self._usages else []  # rounds a hook cut short
            return [*closing, _Unit("chat.validation.end", verdict_data(entry.verdict))]
        if entry.failure:
            failure = entry.failure
            return [_error_unit(failure.message, failure.code, failure.scope, will_retry=False)]
        scope = entry.scope or "user_inference"
        return [_error_unit("The run was cancelled.", "cancelled", scope, will_retry=False)]


def opinion_result(opinion: Opinion) -> dict[str, Any]:
    """An opinion as the wire shows it; decimals become JSON numbers."""
    return {
        "reasoning": opinion.reasoning,
        "score": float(opinion.score),
        "pass": opinion.passed,
        "should_continue": opinion.should_continue,
        "state": opinion.state,
        "turn_delta": float(opinion.turn_delta),
        "conversation_delta": float(opinion.conversation_delta),
        "loss_streak": opinion.loss_streak,
        "required_loss_streak": opinion.required_loss_streak,
    }


def verdict_data(verdict: Verdict) -> dict[str, Any]:
    """A verdict as the wire shows it; `score` is left out where there was no opinion."""
    data: dict[str, Any] = {
        "outcome": verdict.outcome,
        "reason": verdict.reason,
        "state": verdict.state,
        "turn_number": verdict.turn_number,
        "conversation_delta": float(verdict.conversation_delta),
        "loss_streak": verdict.loss_streak,
    }
    if verdict.score is not None:
        data["score"] = float(verdict.score)
    return data


def _part_unit(role: Speaking, part: Part) -> _Unit:
    about = f"chat.{role}_message"
    match part:
        case Text():
            return _Unit(f"{about}.content", {"content": part.text}, "content")
        case Reasoning():
            return _Unit(f"{about}.reasoning", {"reasoning_content": part.text}, "reasoning_content")
        case Refusal():
            return _Unit(f"{about}.refusal", {"refusal": part.text}, "refusal")
        case ToolCall():
            data = {"id": part.id, "name": part.name, "arguments": part.arguments}
            return _Unit(f"{about}.tool_call", data)
        case ToolResult():
            data = {"id": part.id, "name": part.name, "content": part.content}
            return _Unit(f"{about}.tool_result", data)


def _usage_unit(role: str, usage: Usage) -> _Unit:
    tokens = {
        "prompt_tokens": usage.prompt_tokens,
        "cached_prompt_tokens": usage.cached_prompt_tokens,
        "completion_tokens": usage.completion_tokens,
    }
    return _Unit("usage_updated", {"role": role, "usage": tokens})


def _error_unit(error: str, code: str, scope: Scope, *, will_retry: bool) -> _Unit:
    data = {"error": error, "code": code, "scope": scope, "will_retry": will_retry}
    return _Unit("unhandled_error", data)


def _gives_up_words(entry: Entry) -> bool:
    """Whether what was shown before `entry` is no part of it: an attempt is spent, or broke with the run."""
    return isinstance(entry, Spent) or (isinstance(entry, Ended) and entry.verdict is None)


def _time_of(entry: Entry) -> int:
    match entry:
        case UserSpoke() | AssistantSpoke() | Opinion():
            return entry.timing.at_ms
        case _:
            return entry.at_ms
