"""Small fakes of each port, for tests and for trying a conversation without an llm or a network.

parties = scripted_parties(
    user=[says("Where is my order?"), says("Thanks. <LEAVE-TALK/>")],
    gateway=[says("On its way."), says("You are welcome.")],
    judge=[opinion("0.6"), opinion("0.95")],
)
async for event in converse(spec, parties):
    ...
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from parley.engine.chat.faults import FaultCode, InferenceFault
from parley.engine.chat.pieces import Closing, FinishReason, Piece, Usage
from parley.engine.messages import Message, Part, Reasoning, Refusal, Text
from parley.engine.ports import (
    AttemptOptions,
    Deadlines,
    Guard,
    HookAnswer,
    Hooks,
    Parties,
    Speaker,
    Stop,
    Tools,
)
from parley.engine.spec import Hook, ToolMock
from parley.engine.tools import MockTools


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One scripted attempt: its parts, then a closing, a fault, or neither: a stall without end."""

    parts: tuple[Part, ...] = ()
    closing: Closing | None = None
    fault: InferenceFault | None = None

    @property
    def stalls(self) -> bool:
        """Whether nothing more comes after the parts."""
        return self.closing is None and self.fault is None


def answers(*parts: Part, finish: FinishReason = "stop", usage: Usage | None = None) -> Reply:
    """A complete answer of these parts."""
    return Reply(parts=parts, closing=Closing(finish_reason=finish, usage=usage))


def says(
    *chunks: str, reasoning: str = "", finish: FinishReason = "stop", usage: Usage | None = None
) -> Reply:
    """A complete answer of words, one part a chunk, after `reasoning`."""
    thought = (Reasoning(text=reasoning),) if reasoning else ()
    return answers(*thought, *_words(chunks), finish=finish, usage=usage)


def refuses(text: str) -> Reply:
    """A complete answer that is a refusal."""
    return answers(Refusal(text=text))


def opinion(score: str, reasoning: str = "Because of what was said.") -> Reply:
    """A judge's answer as asked for. `score` is written as it stands, so that it may be a wrong one."""
    return says(f'{{"reasoning": {json.dumps(reasoning)}, ', f'"score": {score}}}')


def fails(
    code: FaultCode = "http_error",
    *chunks: str,
    retryable: bool = True,
    status: int | None = None,
    retry_after_s: float | None = None,
    usage: Usage | None = None,
    message: str = "The llm answered with an error.",
) -> Reply:
    """An attempt that fails after these chunks of words."""
    fault = InferenceFault(
        code, message, retryable=retryable, status=status, retry_after_s=retry_after_s, usage=usage
    )
    return Reply(parts=_words(chunks), fault=fault)


def stalls(*chunks: str) -> Reply:
    """An attempt that stops after these chunks of words, without an end."""
    return Reply(parts=_words(chunks))


def _words(chunks: Sequence[str]) -> tuple[Text, ...]:
    return tuple(Text(text=chunk) for chunk in chunks)


class ScriptEnded(LookupError):
    """More attempts were made than were scripted."""


Script: TypeAlias = Sequence[Reply] | Callable[[int], Reply]
"""Replies in order, or the reply to the n-th attempt, from 0."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request that was made."""

    messages: tuple[Message, ...]
    options: AttemptOptions

    @property
    def text(self) -> str:
        """All that was sent, as one JSON text."""
        return json.dumps([message.wire() for message in self.messages], ensure_ascii=False)


class ScriptedSpeaker:
    """Gives its replies in order and remembers what it was asked.

    `made` attempts were made before, by whoever held the conversation until now. `stalled` is set
    while an attempt waits without end; `open_attempts` counts those that were not closed yet.
    """

    def __init__(self, script: Script = (), *, model: str = "scripted", made: int = 0) -> None:
        self.model = model
        self.asked: list[Asked] = []
        self.stalled = asyncio.Event()
        self.open_attempts = 0
        self._script = script
        self._made = made

    async def attempt(
        self, messages: Sequence[Message], options: AttemptOptions
    ) -> AsyncGenerator[Piece, None]:
        """Make the next attempt of the script. Raises `ScriptEnded` behind its end."""
        reply = self._next()
        self.asked.append(Asked(tuple(messages), options))
        self.open_attempts += 1
        try:
            for part in reply.parts:
                await asyncio.sleep(0)
                yield part
            if reply.fault:
                raise _again(reply.fault)
            if reply.closing is None:
                self.stalled.set()
                await asyncio.Event().wait()
                return
            yield reply.closing
        finally:
            self.open_attempts -= 1

    def _next(self) -> Reply:
        number, self._made = self._made, self._made + 1
        if callable(self._script):
            return self._script(number)
        if number >= len(self._script):
            raise ScriptEnded(f"{self.model}: attempt {number + 1} of {len(self._script)} scripted ones")
        return self._script[number]


class OpenGuard:
    """Lets everything go on, but for the turns in `closed_turns`, until it is told to stop."""

    def __init__(self, closed_turns: Mapping[int, Stop] | None = None) -> None:
        self.asked_turns: list[int] = []
        self._closed_turns = closed_turns or {}
        self._stop: Stop | None = None
        self._interrupt: Callable[[], None] | None = None

    def stop(self, stop: Stop) -> None:
        """Stop the conversation now. The first reason stands."""
        if self._stop is None:
            self._stop = stop
            if self._interrupt:
                self._interrupt()

    async def may_start_turn(self, turn: int) -> Stop | None:
        """Why this turn may not begin, if so."""
        self.asked_turns.append(turn)
        return self._closed_turns.get(turn) or self._stop

    def stopped(self) -> Stop | None:
        """The reason given to `stop`."""
        return self._stop

    def on_stop(self, interrupt: Callable[[], None]) -> None:
        """What `stop` calls."""
        self._interrupt = interrupt


@dataclass(frozen=True, slots=True)
class HookMade:
    """One call of a hook."""

    hook: Hook
    index: int
    turn: int
    data: dict[str, Any]


class QuietHooks:
    """Hooks that answer 200 and remember their calls; those in `refusing` (by index) answer 403."""

    def __init__(self, refusing: Collection[int] = ()) -> None:
        self.calls: list[HookMade] = []
        self._refusing = refusing

    async def call(self, hook: Hook, index: int, turn: int, data: dict[str, Any]) -> HookAnswer:
        """Answer at once."""
        self.calls.append(HookMade(hook, index, turn, data))
        if index in self._refusing:
            return HookAnswer(continued=False, status=403, body="no")
        return HookAnswer(continued=True, status=200, body="ok")


@dataclass(slots=True)
class StillClock:
    """A clock that moves only while somebody sleeps on it, and then at once."""

    at_s: float = 1_700_000_000.0
    slept_s: list[float] = field(default_factory=list)

    def now_ms(self) -> int:
        """Epoch milliseconds of the still time."""
        return round(self.at_s * 1000)

    def monotonic_s(self) -> float:
        """The still time, seconds."""
        return self.at_s

    async def sleep(self, seconds: float) -> None:
        """Move on by `seconds`."""
        self.slept_s.append(seconds)
        self.at_s += seconds
        await asyncio.sleep(0)


def scripted_parties(
    user: Script | Speaker = (),
    gateway: Script | Speaker = (),
    judge: Script | Speaker = (),
    *,
    guard: Guard | None = None,
    hooks: Hooks | None = None,
    tools: Tools | Sequence[ToolMock] = (),
    clock: StillClock | None = None,
    deadlines: Deadlines | None = None,
) -> Parties:
    """Parties that speak by script, with a fake for every port that is not given."""
    limits = deadlines or Deadlines()
    return Parties(
        user=_speaker(user, "user"),
        gateway=_speaker(gateway, "gateway"),
        judge=_speaker(judge, "judge"),
        guard=guard or OpenGuard(),
        hooks=hooks or QuietHooks(),
        tools=MockTools(tools) if isinstance(tools, Sequence) else tools,
        clock=clock or StillClock(),
        deadlines=limits,
        gateway_deadlines=limits,
    )


def _speaker(script: Script | Speaker, model: str) -> Speaker:
    if isinstance(script, Sequence) or callable(script):
        return ScriptedSpeaker(script, model=model)
    return script


def _again(fault: InferenceFault) -> InferenceFault:
    """The same fault, not yet raised: one script may be played many times."""
    return InferenceFault(
        fault.code,
        fault.message,
        retryable=fault.retryable,
        status=fault.status,
        retry_after_s=fault.retry_after_s,
        usage=fault.usage,
    )
