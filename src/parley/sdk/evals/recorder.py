"""What happens inside an agent while a step runs, noted by the agent's own code.

Outside of evals every call of `record` does nothing, so that it may stay in code that goes to production.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

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
from parley.sdk.evals.calling import is_async
from parley.sdk.evals.plain_data import jsonable

F = TypeVar("F", bound=Callable[..., Any])


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


@contextmanager
def noting() -> Iterator[StepNotes]:
    """Collect the notes of one step."""
    notes = StepNotes()
    token = _STEP.set(notes)
    try:
        yield notes
    finally:
        _STEP.reset(token)


class Record:
    """Notes what the agent does in the current step; `record` is the one that everybody uses."""

    @property
    def is_on(self) -> bool:
        """Whether anybody wants to know."""
        return _STEP.get() is not None

    def text(self, delta: str, *, source: str | None = None) -> None:
        """Words as they are streamed. They are the step's text unless the agent returns another."""
        self.event("text-delta", text=clean(delta), source=source)

    def tool_call(self, name: str, arguments: Any = None, *, call_id: str | None = None) -> ToolCallNote:
        """A tool call begins; tell its end by `result` or `error` of what this returns."""
        notes = _STEP.get()
        if notes is None:
            return ToolCallNote(None, name, call_id or "")
        made = call_id or f"call-{next(notes.numbers)}"
        notes.events.append(
            AgentEvent(
                type="tool-call-start", tool_name=name, call_id=made, arguments=jsonable(arguments or {})
            )
        )
        return ToolCallNote(notes, name, made)

    @contextmanager
    def tool(self, name: str, **arguments: Any) -> Iterator[ToolCallNote]:
        """A tool call as a block: what it raises is its error; without `result` it gave null."""
        note = self.tool_call(name, arguments)
        try:
            yield note
        except BaseException as error:
            note.error(error)
            raise
        note.result(None) if not note.is_over else None

    def output(
        self,
        data: Any,
        *,
        schema_id: str | None = None,
        schema_version: str | None = None,
        data_type: str | None = None,
        stream_id: str | None = None,
        is_partial: bool = False,
    ) -> None:
        """A structured output. One with the `stream_id` of an earlier one replaces it."""
        notes = _STEP.get()
        if notes is None:
            return
        output = Structured(
            stream_id=stream_id,
            data_type=data_type,
            schema_id=schema_id,
            schema_version=schema_version,
            status="streaming" if is_partial else "done",
            data=jsonable(data),
        )
        notes.outputs.append(output)
        notes.events.append(
            AgentEvent(
                type="structured-data", **{name: getattr(output, name) for name in output.model_fields_set}
            )
        )

    def invalidate(self, stream_id: str) -> None:
        """Take back the output of this stream."""
        self.event("structured-data-invalidated", stream_id=stream_id)

    def interrupt(self, interrupt: Interrupt) -> None:
        """The agent pauses. Its answer is then a pause whatever it returns, with a continuation beside it."""
        notes = _STEP.get()
        if notes is not None:
            notes.interrupts.append(interrupt)
            notes.events.append(AgentEvent(type="interrupt", interrupt=interrupt))

    def usage(self, usage: Usage) -> None:
        """What one llm call used; several are added up."""
        notes = _STEP.get()
        if notes is not None:
            notes.usages.append(usage)

    def run_id(self, run_id: str) -> None:
        """Your own id of this run, to find it again in your traces."""
        notes = _STEP.get()
        if notes is not None:
            notes.run_id = run_id

    def event(self, type: str, **fields: Any) -> None:
        """Any other event, such as `limit-reached`; fields as in an observation's events."""
        notes = _STEP.get()
        if notes is not None:
            payloads = {
                name: jsonable(value) for name, value in fields.items() if name in AgentEvent.payloads
            }
            notes.events.append(AgentEvent(type=type, **{**fields, **payloads}))


record = Record()


def recorded_tool(function: F) -> F:
    """A tool whose calls are noted with arguments and result; sync or async, unchanged otherwise."""
    name = getattr(function, "__name__", type(function).__name__)

    def begin(args: Sequence[Any], kwargs: dict[str, Any]) -> ToolCallNote:
        return record.tool_call(name, _named(function, args, kwargs) if record.is_on else None)

    if is_async(function):

        @functools.wraps(function)
        async def noted_async(*args: Any, **kwargs: Any) -> Any:
            note = begin(args, kwargs)
            try:
                value = await function(*args, **kwargs)
            except BaseException as error:
                note.error(error)
                raise
            note.result(value)
            return value

        return cast(F, noted_async)

    @functools.wraps(function)
    def noted(*args: Any, **kwargs: Any) -> Any:
        note = begin(args, kwargs)
        try:
            value = function(*args, **kwargs)
        except BaseException as error:
            note.error(error)
            raise
        note.result(value)
        return value

    return cast(F, noted)


def _named(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by their names, defaults left out."""
    try:
        return dict(inspect.signature(function).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        return {**{f"arg{index}": value for index, value in enumerate(args)}, **kwargs}
