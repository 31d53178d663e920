"""A scripted app and a scripted judge, for tests and for trying a suite without an agent.

app = ScriptedApp([answers("On its way."), pauses(choice("approve", "refuse")), answers("Done.")])
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from parley.engine.script.observation import AgentEvent, Interrupt, Observation, Option, Structured
from parley.engine.script.ports import CallOff, Command, Context, Execution, Graded
from parley.engine.script.record import JudgeIdentity, Verification
from parley.engine.script.rubric import GradeRequest
from parley.engine.script.selection import Filter
from parley.engine.script.shapes import LiteralResume, Named, ResumeSelect

Deed: TypeAlias = Callable[[], Awaitable[None]]
"""Something that happens at the beginning of a phase, such as raising or never ending."""


def answers(
    text: str = "", *, events: Sequence[AgentEvent] = (), outputs: Sequence[Structured] = ()
) -> Execution:
    """An answer in words."""
    return Execution(
        observation=Observation(type="answer", text=text, events=tuple(events), structured=tuple(outputs))
    )


def choice(*ids: str, request_id: str = "request-1", schema_id: str | None = None) -> Interrupt:
    """A pause that offers these options."""
    return Interrupt(
        request_id=request_id,
        kind="choice",
        question="Which one?",
        schema_id=schema_id,
        options=tuple(Option(id=one, label=one.title()) for one in ids),
    )


def pauses(interrupt: Interrupt, *others: Interrupt, continuation: object = "handle") -> Execution:
    """A pause, perhaps with others beside it."""
    events = tuple(AgentEvent(type="interrupt", interrupt=one) for one in (interrupt, *others))
    observation = Observation(type="interrupt", interrupt=interrupt, events=events)
    return Execution(observation=observation, continuation=continuation)


def tool_events(name: str, arguments: Any, result: Any, call_id: str = "call-1") -> tuple[AgentEvent, ...]:
    """A tool call and its result."""
    return (
        AgentEvent(type="tool-call-start", tool_name=name, call_id=call_id, arguments=arguments),
        AgentEvent(type="tool-call-result", tool_name=name, call_id=call_id, result=result),
    )


@dataclass
class ScriptedApp:
    """Gives its executions in order and writes down what it was asked.

    `deeds` happen at the beginning of the call of that name, such as `execute-2` for the second command
    or `teardown`.
    """

    executions: Sequence[Execution] = ()
    deeds: Mapping[str, Deed] = field(default_factory=dict)
    responses: Mapping[str, LiteralResume] = field(
        default_factory=lambda: {"approve": ResumeSelect(type="select", ids=("approve",))}
    )
    responder_schemas: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    references: Mapping[str, Any] = field(default_factory=dict)
    filters: Mapping[str, Filter] = field(default_factory=dict)
    verification: Verification | None = field(
        default_factory=lambda: Verification(passed=True, reason="All is well.")
    )
    diagnostic_id: str | None = None
    calls: list[str] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)

    @property
    def verifies(self) -> bool:
        return self.verification is not None

    def validate_params(self, params: Any) -> Any:
        self.calls.append("params")
        return params

    async def setup(self, context: Context) -> Any:
        await self._begin("setup")
        return f"prepared for {context.session_id}"

    async def execute(self, context: Context, command: Command) -> Execution:
        if isinstance(command, CallOff):
            await self._begin(f"cancel {command.interrupt.request_id}")
            return answers()
        number = len(self.commands)
        self.commands.append(command)
        await self._begin(f"execute-{number + 1}")
        return self.executions[number]

    def responder_schema(self, name: str) -> tuple[str | None, str | None]:
        return self.responder_schemas.get(name, (None, None))

    async def respond(self, named: Named, context: Context, interrupt: Interrupt) -> LiteralResume:
        await self._begin("respond")
        return self.responses[named.using]

    async def reference(self, named: Named, context: Context) -> Any:
        await self._begin("reference")
        return self.references[named.using]

    async def verify(self, context: Context) -> Verification:
        await self._begin("verify")
        assert self.verification is not None, "nothing to verify is not asked for"
        return self.verification

    async def teardown(self, context: Context) -> None:
        await self._begin("teardown")

    async def report_error(self, context: Context, error: Exception) -> str | None:
        await self._begin("report")
        return self.diagnostic_id

    async def _begin(self, name: str) -> None:
        self.calls.append(name)
        if name in self.deeds:
            await self.deeds[name]()


PASSES: Mapping[str, Any] = {"passed": True, "reason": "It is met.", "evidence": []}
FAILS: Mapping[str, Any] = {"passed": False, "reason": "It is not met.", "evidence": []}
UNSURE: Mapping[str, Any] = {"inconclusive": True, "reason": "The order's state is missing."}


class ScriptedJudge:
    """Answers each request by `decide`, or always with one answer, and remembers what it was asked.

    An exception given as the answer is raised.
    """

    def __init__(self, decide: object = PASSES, *, max_evidence_chars: int = 400_000) -> None:
        self.identity = JudgeIdentity(id="scripted", version_hash="0" * 64, location="app")
        self.max_evidence_chars = max_evidence_chars
        self.asked: list[tuple[GradeRequest, str | None]] = []
        self._decide = decide

    async def grade(self, request: GradeRequest, problem: str | None) -> Graded:
        self.asked.append((request, problem))
        await asyncio.sleep(0)
        answer = self._decide(request, problem) if callable(self._decide) else self._decide
        if isinstance(answer, Awaitable):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        return Graded(answer=answer)
