"""The engine's app over a gateway: says what the script says, answers tools, pauses where a tool pauses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from parley.engine.messages import Message, Part, ToolCall, history, open_calls
from parley.engine.script.faults import SafeFailure
from parley.engine.script.observation import Interrupt, Observation
from parley.engine.script.ports import Answer, CallOff, Command, Context, Execution, Say
from parley.engine.script.record import StepRecord, Verification
from parley.engine.script.selection import Filter
from parley.engine.script.shapes import LiteralResume, Named, ResumeSelect
from parley.engine.spec import MAX_ROUNDS
from parley.server.attempts.gateway.arguments import arguments_of
from parley.server.attempts.gateway.errors import AgentFailed
from parley.server.attempts.gateway.notes import StepNotes, words_in
from parley.server.attempts.gateway.outputs import structured_in
from parley.server.attempts.gateway.pauses import answer_of, interrupt_of
from parley.server.attempts.gateway.talk import Talk
from parley.server.attempts.gateway.tools import Tools, written
from parley.server.attempts.gateway.webhooks import HookOwner, WebhookFailed, Webhooks
from parley.server.attempts.targets import GatewayTarget, InterruptTool

_TOOLS: Final = "tools"


@dataclass(frozen=True, slots=True)
class _Waiting:
    """What a pause leaves open: the calls that still want an answer, the pausing one first."""

    calls: tuple[ToolCall, ...]


class GatewayApp:
    """One attempt's app."""

    def __init__(self, target: GatewayTarget, talk: Talk, webhooks: Webhooks, account_id: Any) -> None:
        self._target = target
        self._talk = talk
        self._webhooks = webhooks
        self._account_id = account_id
        self._declared = {tool.name: tool for tool in target.tools}
        self._responders = {one.name: one for one in target.responders}

    @property
    def filters(self) -> Mapping[str, Filter]:
        """None: suites that name one are refused when they are saved."""
        return {}

    def validate_params(self, params: Any) -> Any:
        """Params as they are: webhooks are told them."""
        return params

    async def setup(self, context: Context) -> Any:
        """Nothing is to be prepared but the answers to tools."""
        context.memory[_TOOLS] = Tools(self._webhooks, HookOwner(self._account_id, context))

    async def execute(self, context: Context, command: Command) -> Execution:
        """One step: rounds of inferences until the gateway has said its last word, or pauses."""
        if isinstance(command, CallOff):
            return Execution(observation=Observation(type="answer"))
        step = _Step(self._target, self._talk, self._declared, context.memory[_TOOLS])
        return await step.execute(command, context.continuation)

    def responder_schema(self, name: str) -> tuple[str | None, str | None]:
        """What a responder is declared to answer."""
        responder = self._responders[name]
        return responder.schema_id, responder.schema_version

    async def respond(self, named: Named, context: Context, interrupt: Interrupt) -> LiteralResume:
        """The declared answer to a pause. Raises `SafeFailure` where no option has the label."""
        responder = self._responders[named.using]
        if responder.literal is not None:
            return responder.literal
        wanted = (responder.label or "").strip().casefold()
        fitting = [one.id for one in interrupt.options if one.label.strip().casefold() == wanted]
        if len(fitting) != 1:
            many = f"{len(fitting)} options have" if fitting else "no option has"
            told = f"The responder {named.using!r}: {many} the label {responder.label!r}."
            raise SafeFailure("no_option_matches", told)
        return ResumeSelect(type="select", ids=(fitting[0],))

    async def reference(self, named: Named, context: Context) -> Any:
        """Suites that name one are refused when they are saved."""
        raise SafeFailure("unknown_reference", f"There is no reference {named.using!r}.")

    @property
    def verifies(self) -> bool:
        """Whether the target has a webhook for it."""
        return self._target.verify is not None

    async def verify(self, context: Context) -> Verification:
        """Ask the target's webhook. Raises `SafeFailure` for an answer that is none."""
        assert self._target.verify is not None, "nothing to verify is not asked for"
        owner = HookOwner(self._account_id, context)
        data = {"steps": [_told(step) for step in context.history]}
        try:
            given = await self._webhooks.call(owner, self._target.verify.url, "verify", 1, data)
        except WebhookFailed as failed:
            raise SafeFailure("verify_webhook_failed", failed.message) from None
        try:
            return Verification.of_wire(given)
        except ValidationError:
            told = "The webhook did not answer {passed, reason, evidence?}."
            raise SafeFailure("verify_unreadable", told) from None

    async def teardown(self, context: Context) -> None:
        """Nothing was prepared."""

    async def report_error(self, context: Context, error: Exception) -> str | None:
        """The record is where errors are told."""
        return None


class _Step:
    """One step under way."""

    def __init__(self, target: GatewayTarget, talk: Talk, declared: Mapping[str, Any], tools: Tools) -> None:
        self._target = target
        self._talk = talk
        self._declared = declared
        self._tools = tools
        self._notes = StepNotes()

    async def execute(self, command: Say | Answer, continuation: Any) -> Execution:
        self._talk.begin_step()
        try:
            return await self._carried_out(command, continuation)
        except AgentFailed as failed:
            self._notes.ended("error", failed.message, {"code": failed.code, "message": failed.message})
            return Execution(observation=self._notes.failure(self._talk.usage))

    async def _carried_out(self, command: Say | Answer, continuation: Any) -> Execution:
        if isinstance(command, Say):
            self._talk.messages.append(Message(role="user", content=command.text))
            return await self._rounds()
        assert isinstance(continuation, _Waiting), "a pause leaves its calls behind"
        first, *rest = continuation.calls
        answer = answer_of(command.resume)
        self._notes.result(first, answer)
        self._answered(first, written(answer))
        return await self._answer_all(rest) or await self._rounds()

    async def _rounds(self) -> Execution:
        for _ in range(MAX_ROUNDS):
            parts = tuple(await self._talk.infer())
            self._talk.messages.extend(history(parts))
            self._notes.streamed(parts)
            calls = open_calls(parts)
            if not calls:
                return self._ended(parts)
            self._notes.words(words_in(parts))
            paused = await self._answer_all(calls)
            if paused is not None:
                return paused
        self._notes.ended("limit-reached", f"The agent was asked {MAX_ROUNDS} times in one step.")
        return Execution(observation=self._notes.answer("", self._talk.usage))

    def _ended(self, parts: tuple[Part, ...]) -> Execution:
        text = words_in(parts)
        for wanted in self._target.outputs:
            found = structured_in(text, wanted.json_schema)
            if found is not None:
                self._notes.output(wanted.schema_id, wanted.schema_version, found[0])
        return Execution(observation=self._notes.answer(text, self._talk.usage))

    async def _answer_all(self, calls: Sequence[ToolCall]) -> Execution | None:
        """Answer calls in order; at a pause, what is left waits with it."""
        for at, call in enumerate(calls):
            tool = self._declared.get(call.name)
            if tool is None:
                told = f"The agent called {call.name}, which the target does not declare."
                raise AgentFailed("call_undeclared", told)
            arguments = arguments_of(call)
            self._notes.call(call, arguments)
            if isinstance(tool, InterruptTool):
                interrupt = interrupt_of(tool, call.id, arguments)
                observation = self._notes.pause(interrupt, self._talk.usage)
                return Execution(observation=observation, continuation=_Waiting(tuple(calls[at:])))
            self._answered(call, await self._tools.answer(tool, call, arguments, self._notes))
        return None

    def _answered(self, call: ToolCall, content: str) -> None:
        self._talk.take(len(content))
        self._talk.messages.append(Message(role="tool", content=content, tool_call_id=call.id))


def _told(step: StepRecord) -> dict[str, Any]:
    """A step as a verification reads it."""
    whole = step.wire()
    return {name: whole[name] for name in ("index", "input", "resumed", "observation") if name in whole}
