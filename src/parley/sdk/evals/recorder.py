"""What happens inside an agent while a step runs, noted by the agent's own code.

Outside of evals every call of `record` does nothing, so that it may stay in code that goes to production.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from parley.engine.script.observation import AgentEvent, Interrupt, Structured, Usage
from parley.engine.text import clean
from parley.sdk.evals.plain_data import jsonable
from parley.sdk.evals.step_notes import ToolCallNote, current_notes


class Record:
    """Notes what the agent does in the current step; `record` is the one that everybody uses."""

    @property
    def is_on(self) -> bool:
        """Whether anybody wants to know."""
        return current_notes() is not None

    def text(self, delta: str, *, source: str | None = None) -> None:
        """Words as they are streamed. They are the step's text unless the agent returns another."""
        self.event("text-delta", text=clean(delta), source=source)

    def tool_call(self, name: str, arguments: Any = None, *, call_id: str | None = None) -> ToolCallNote:
        """A tool call begins; tell its end by `result` or `error` of what this returns."""
        notes = current_notes()
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
            note.ended_by(error)
            raise
        note.result(None)

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
        notes = current_notes()
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
        notes = current_notes()
        if notes is not None:
            notes.interrupts.append(interrupt)
            notes.events.append(AgentEvent(type="interrupt", interrupt=interrupt))

    def usage(self, usage: Usage) -> None:
        """What one llm call used; several are added up."""
        notes = current_notes()
        if notes is not None:
            notes.usages.append(usage)

    def run_id(self, run_id: str) -> None:
        """Your own id of this run, to find it again in your traces."""
        notes = current_notes()
        if notes is not None:
            notes.run_id = run_id

    def event(self, type: str, **fields: Any) -> None:
        """Any other event, such as `limit-reached`; fields as in an observation's events."""
        notes = current_notes()
        if notes is not None:
            payloads = {
                name: jsonable(value) for name, value in fields.items() if name in AgentEvent.payloads
            }
            notes.events.append(AgentEvent(type=type, **{**fields, **payloads}))


record = Record()
