"""The notes of one step, carried by a context variable to wherever the agent's code runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from parley.engine.script.observation import (
    AgentEvent,
    Interrupt,
    Observation,
    Structured,
    Usage,
    joined_deltas,
    stream_key,
)
from parley.engine.script.usage import total
from parley.engine.text import clean
from parley.sdk.evals.pause import Pause
from parley.sdk.evals.plain_data import jsonable


class ToolCallNote:
    """One tool call under way: say how it ended, once."""

    def __init__(self, notes: StepNotes | None, name: str, call_id: str) -> None:
        self.call_id = call_id
        self._notes = notes
        self._name = name
        self.is_over = False

    def result(self, result: Any) -> None:
        """It gave this."""
        self._end("tool-call-result", result=jsonable(result))

    def error(self, error: Any) -> None:
        """It failed with this."""
        told = f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else error
        self._end("tool-call-error", error=jsonable(told))

    def ended_by(self, error: BaseException) -> None:
        """It raised. A pause leaves the call open: its answer is yet to come."""
        if not isinstance(error, Pause):
            self.error(error)

    def _end(self, kind: str, **payload: Any) -> None:
        if self._notes and not self.is_over:
            self._notes.events.append(
                AgentEvent(type=kind, tool_name=self._name, call_id=self.call_id, **payload)
            )
        self.is_over = True


class StepNotes:
    """The notes of one step. Threads of one step may write at once."""

    def __init__(self) -> None:
        self.events: list[AgentEvent] = []
        self.outputs: list[Structured] = []
        self.interrupts: list[Interrupt] = []
        self.usages: list[Usage] = []
        self.run_id: str | None = None
        self.numbers = itertools.count(1)

    @property
    def text(self) -> str:
        """All words that were streamed."""
        return "".join(event.text or "" for event in self.events if event.type == "text-delta")

    def structured(self) -> tuple[Structured, ...]:
        """The latest envelope of each output, in the order they first came."""
        latest = {stream_key(output): output for output in self.outputs if output.stream_id}
        nameless = [output for output in self.outputs if not output.stream_id]
        return (*latest.values(), *nameless)

    def added_to(self, given: Observation) -> Observation:
        """`given` with what was noted: its own words stand, events and outputs come after ours."""
        return Observation(
            type=given.type,
            text=given.text or clean(self.text),
            structured=(*self.structured(), *given.structured),
            events=joined_deltas((*self.events, *given.events)),
            interrupt=given.interrupt,
            run_id=given.run_id or self.run_id,
            usage=given.usage or total(self.usages),
        )


_STEP: ContextVar[StepNotes | None] = ContextVar("parley_step", default=None)


def current_notes() -> StepNotes | None:
    """The notes of the step that this code runs in; None outside of evals."""
    return _STEP.get()


@contextmanager
def noting() -> Iterator[StepNotes]:
    """Collect the notes of one step."""
    notes = StepNotes()
    token = _STEP.set(notes)
    try:
        yield notes
    finally:
        _STEP.reset(token)
