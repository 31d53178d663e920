"""An agent: any callable that takes a turn and gives words, a pause, or a whole observation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from parley.engine.script.observation import Interrupt, Observation
from parley.engine.script.plain import plain
from parley.engine.script.ports import Answer, CallOff, Command, Context, Execution, Say
from parley.engine.script.record import StepRecord
from parley.engine.script.shapes import LiteralResume
from parley.engine.text import clean
from parley.sdk.evals.calling import call
from parley.sdk.evals.pause import Pause
from parley.sdk.evals.step_notes import StepNotes

Agent: TypeAlias = Callable[..., Any]
"""Takes a `Turn`; sync or async. Gives a text, None (what was recorded), a `Pause`, an `Observation`, its
wire form, or an `Execution`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the agent is given. `cancel` calls off a pause that nobody will answer.

    `text` are the user's words, or the words of a resume. `resume`, `interrupt` and `continuation` belong
    to an answered or cancelled pause. `messages` is the talk so far, this turn's text included, as
    chat-completions messages. `memory` is yours, for as long as the attempt lives.
    """

    kind: Literal["message", "resume", "cancel"]
    text: str
    session_id: str
    messages: list[dict[str, Any]]
    memory: dict[str, Any]
    params: Any = None
    prepared: Any = None
    resume: LiteralResume | None = None
    interrupt: Interrupt | None = None
    continuation: Any = None
    deadline_s: float | None = None

    @property
    def answer(self) -> Any:
        """What a resume says, as plain data: a text, ids of options, a value, or None for a cancel."""
        match self.resume:
            case None:
                return None
            case resume if resume.type == "text":
                return resume.text
            case resume if resume.type == "select":
                return list(resume.ids)
            case resume if resume.type == "value":
                return resume.value
        return None


def function_agent(function: Callable[..., Any]) -> Agent:
    """An agent out of any callable, sync or async, that takes the words and perhaps the messages so far."""

    async def agent(turn: Turn) -> Any:
        return await call(function, turn.text, turn.messages)

    return agent


def turn_of(context: Context, command: Command) -> Turn:
    """`command` as an agent is given it."""
    history = [line for step in context.history for line in _lines(step)]
    resume = command.resume if isinstance(command, Answer) else None
    text = command.text if isinstance(command, Say) else _words(resume)
    said = [] if isinstance(command, CallOff) else [{"role": "user", "content": text}]
    return Turn(
        kind=command.kind,
        text=text,
        session_id=context.session_id,
        messages=[*history, *said],
        memory=context.memory,
        params=context.params,
        prepared=context.prepared,
        resume=resume,
        interrupt=None if isinstance(command, Say) else command.interrupt,
        continuation=context.continuation,
        deadline_s=context.deadline_s,
    )


def _lines(step: StepRecord) -> list[dict[str, Any]]:
    written = step.resumed or step.input.resume
    resume = written if written is not None and not hasattr(written, "using") else None
    said = step.input.message if step.input.message is not None else _words(resume)
    answer = step.observation.text if step.observation else ""
    return [{"role": "user", "content": said}, {"role": "assistant", "content": answer}]


def _words(resume: LiteralResume | None) -> str:
    match resume:
        case None:
            return ""
        case one if one.type == "text":
            return one.text
        case one if one.type == "select":
            return ", ".join(one.ids)
        case one if one.type == "value":
            return str(one.value)
    return ""


def execution_of(given: Any, notes: StepNotes) -> Execution:
    """What an agent gave, with what it recorded. Raises TypeError, ValueError for what it cannot mean."""
    if isinstance(given, Pause):
        observation = Observation(type="interrupt", interrupt=given.interrupt())
        return _noted(Execution(observation=observation, continuation=given.continuation), notes)
    if isinstance(given, Execution):
        return _noted(given, notes)
    if isinstance(given, Observation):
        return _noted(Execution(observation=given), notes)
    if isinstance(given, Mapping):
        return _noted(Execution(observation=Observation.of_wire(plain(dict(given)))), notes)
    if given is None or isinstance(given, str):
        observation = Observation(type="answer", text=clean(given or ""))
        return _noted(Execution(observation=observation), notes)
    raise TypeError(
        f"an agent gives a text, a Pause, an Observation or an Execution, not {type(given).__name__}"
    )


def _noted(execution: Execution, notes: StepNotes) -> Execution:
    observation = execution.observation
    if observation.type == "answer" and notes.interrupts:
        paused = observation.model_copy(update={"type": "interrupt", "interrupt": notes.interrupts[-1]})
        return Execution(observation=notes.added_to(paused), continuation=execution.continuation or True)
    return Execution(observation=notes.added_to(observation), continuation=execution.continuation)
