"""What happens within one step against a gateway, in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from parley.engine.messages import Part, ToolCall, ToolResult, joined
from parley.engine.script.observation import AgentEvent, Interrupt, Observation, Structured, Usage
from parley.server.attempts.gateway.arguments import lenient_arguments


@dataclass(slots=True)
class StepNotes:
    """Events and structured outputs of a step."""

    events: list[AgentEvent] = field(default_factory=list)
    outputs: list[Structured] = field(default_factory=list)

    def words(self, text: str) -> None:
        """Words beside a call; no part of the step's final text."""
        if text:
            self.events.append(AgentEvent(type="text-delta", text=text))

    def streamed(self, parts: tuple[Part, ...]) -> None:
        """Calls that the gateway answered itself, with their results."""
        pieces: dict[str, list[str]] = {}
        for part in parts:
            if isinstance(part, ToolResult):
                pieces.setdefault(part.id, []).append(part.content)
        for part in parts:
            if isinstance(part, ToolCall) and part.id in pieces:
                self.call(part, lenient_arguments(part.arguments))
            elif isinstance(part, ToolResult) and part.id in pieces:
                self.result(part, "".join(pieces.pop(part.id)))

    def call(self, call: ToolCall, arguments: Any) -> None:
        """A call begins."""
        self.events.append(
            AgentEvent(type="tool-call-start", tool_name=call.name, call_id=call.id, arguments=arguments)
        )

    def result(self, call: ToolCall | ToolResult, result: Any) -> None:
        """It gave this."""
        self.events.append(
            AgentEvent(type="tool-call-result", tool_name=call.name, call_id=call.id, result=result)
        )

    def error(self, call: ToolCall, error: Any) -> None:
        """It failed with this."""
        self.events.append(
            AgentEvent(type="tool-call-error", tool_name=call.name, call_id=call.id, error=error)
        )

    def output(self, schema_id: str, schema_version: str | None, data: Any) -> None:
        """A structured output is complete."""
        told: dict[str, Any] = {
            "schema_id": schema_id,
            "schema_version": schema_version,
            "status": "done",
            "data": data,
        }
        self.outputs.append(Structured(**told))
        self.events.append(AgentEvent(type="structured-data", **told))

    def ended(self, kind: str, text: str, error: Any = None) -> None:
        """A limit or an error ended the step."""
        given = {} if error is None else {"error": error}
        self.events.append(AgentEvent(type=kind, text=text, **given))

    def answer(self, text: str, usage: Usage | None) -> Observation:
        """The step as an answer."""
        return self._observed("answer", text, usage)

    def pause(self, interrupt: Interrupt, usage: Usage | None) -> Observation:
        """The step as a pause."""
        return self._observed("interrupt", "", usage, interrupt)

    def failure(self, usage: Usage | None) -> Observation:
        """The step as an error; what was noted before it stays."""
        return self._observed("error", "", usage)

    def _observed(
        self, kind: str, text: str, usage: Usage | None, interrupt: Interrupt | None = None
    ) -> Observation:
        return Observation.model_validate(
            {
                "type": kind,
                "text": text,
                "structured": tuple(self.outputs),
                "events": tuple(self.events),
                "interrupt": interrupt,
                "usage": usage,
            }
        )


def words_in(parts: tuple[Part, ...]) -> str:
    """The visible words of an answer; a refusal is words too."""
    return joined(parts, "content") or joined(parts, "refusal")
