"""The one conversation: a simulated user, a gateway and a judge, as a stream of events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import asdict
from typing import Any

from parley.engine.attempt import Attempt, merged
from parley.engine.blank import is_blank
from parley.engine.chat.faults import InferenceFault
from parley.engine.chat.retry import delay_s
from parley.engine.draws import draw
from parley.engine.events import (
    AssistantSpoke,
    Ended,
    Entry,
    Event,
    Failure,
    HookCalled,
    Opened,
    Opinion,
    Shown,
    Speaking,
    Spent,
    SpentReason,
    UserSpoke,
)
from parley.engine.judging.opinion import OpinionUnreadable, ReadOpinion, read_opinion
from parley.engine.judging.prompt import OPINION_SCHEMA, judge_messages
from parley.engine.judging.trajectory import judged
from parley.engine.messages import Message, Part, Reasoning, Refusal, Text, ToolCall, joined, open_calls
from parley.engine.patience import Patience, WaitEnded
from parley.engine.plan import (
    AskGateway,
    AskJudge,
    CallHook,
    Finish,
    SpeakUser,
    Step,
    attempts_left,
    next_step,
    role_of,
    scope_of,
)
from parley.engine.ports import AttemptOptions, Parties, Speaker, Stop
from parley.engine.simulator.guards import fault_of_reply
from parley.engine.simulator.prompt import user_messages
from parley.engine.simulator.reply import ReplyFilter
from parley.engine.simulator.token_filter import TokenFilter
from parley.engine.spec import MAX_REPLIES, Spec
from parley.engine.state import RESPONSE_FORMAT_REFUSED, State
from parley.engine.talk import gateway_has_spoken, gateway_messages


async def converse(spec: Spec, parties: Parties, state: State | None = None) -> AsyncGenerator[Event, None]:
    """Hold the conversation from `state` (default: the beginning) to its end.

    The consumer keeps each entry before it asks for the next event. The last event is `Ended`, except
    after a stop with code `handed_over`, which leaves the conversation open for another worker.
    """
    state = state or State()
    while step := next_step(spec, state):
        stop = parties.guard.stopped()
        if stop is None and step.turn > state.turn and not isinstance(step, Finish):
            stop = await parties.guard.may_start_turn(step.turn)
        if stop:
            if stop.code != "handed_over":
                yield _ended_by(stop, spec, step, parties.clock.now_ms())
            return
        async with aclosing(_Performance(spec, parties, state).of(step)) as events:
            async for event in events:
                yield event
                if not isinstance(event, Opened | Shown):
                    state = state.after(event)


def _ended_by(stop: Stop, spec: Spec, step: Step, now_ms: int) -> Ended:
    scope = scope_of(spec, step)
    if stop.code == "cancelled":
        return Ended(at_ms=now_ms, cancelled=True, scope=scope)
    failure = Failure(code=stop.code, message=stop.message, scope=scope, turn=step.turn)
    return Ended(at_ms=now_ms, failure=failure)


class _Performance:
    """One step carried out: some deltas, then exactly one entry, or none after a stop before it began."""

    def __init__(self, spec: Spec, parties: Parties, state: State) -> None:
        self._spec = spec
        self._parties = parties
        self._state = state
        self._clock = parties.clock

    def of(self, step: Step) -> AsyncGenerator[Event, None]:
        match step:
            case SpeakUser():
                return self._user(step)
            case AskGateway():
                return self._gateway(step)
            case AskJudge():
                return self._judge(step)
            case CallHook():
                return self._hook(step)
            case Finish():
                return self._finish(step)

    async def _finish(self, step: Finish) -> AsyncGenerator[Event, None]:
        yield Ended(
            at_ms=self._clock.now_ms(),
            verdict=step.verdict,
            failure=step.failure,
            behaviour=step.behaviour,
        )

    # the simulated user

    async def _user(self, step: SpeakUser) -> AsyncGenerator[Event, None]:
        state = self._state
        messages = user_messages(self._spec, state.exchanges, step.turn, step.may_exit, step.nudge)
        options = AttemptOptions(more_room=step.nudge == "empty")
        reply = ReplyFilter(may_exit=step.may_exit)
        thought = TokenFilter()
        shown: list[Part] = []
        with Patience(self._parties.guard, self._parties.deadlines) as patience:
            if not await self._waited(patience):
                return
            attempt = self._attempt(self._parties.user, messages, options, patience)
            yield self._opened(step)
            async with aclosing(attempt.parts()) as parts:
                async for part in parts:
                    visible = _filtered(part, reply, thought)
                    if visible:
                        shown.append(visible)
                        yield Shown(role="user", part=visible)
        if attempt.closing is None:
            yield self._spent_on_fault(step, attempt)
            return
        for rest in (_reasoning(thought.close()), _text(reply.close())):
            if rest:
                shown.append(rest)
                yield Shown(role="user", part=rest)
        yield self._user_entry(step, attempt, merged(shown), reply)

    def _user_entry(self, step: SpeakUser, attempt: Attempt, parts: list[Part], reply: ReplyFilter) -> Entry:
        state, text = self._state, joined(parts, "content")
        may_leave = step.may_exit and gateway_has_spoken(self._spec, state.exchanges)
        is_last_reply = len(state.rejections) + 1 >= MAX_REPLIES
        code = fault_of_reply(text, [said for e in state.exchanges if (said := e.user_text)], reply)
        if is_blank(text) and code != "reply_role_swap":
            if may_leave and (reply.exited or is_last_reply):
                return self._user_spoke(step, attempt, parts, exited=True)
            return self._rejected(step, attempt, "reply_empty", will_retry=not is_last_reply)
        if code == "reply_repeated" and reply.exited:
            code = None  # a goodbye may well be said twice
        if code and not is_last_reply:
            return self._rejected(step, attempt, code, will_retry=True)
        if code in ("reply_role_swap", "reply_plan_leak"):
            return self._rejected(step, attempt, code, will_retry=False)
        return self._user_spoke(step, attempt, parts, exited=reply.exited)

    def _user_spoke(self, step: SpeakUser, attempt: Attempt, parts: list[Part], *, exited: bool) -> UserSpoke:
        closing = attempt.closing
        return UserSpoke(
            turn=step.turn,
            parts=tuple(part for part in parts if isinstance(part, Text | Reasoning)),
            usage=attempt.usage(),
            timing=attempt.timing(),
            exited=exited,
            notes=(closing.notes if closing else ()) + _ignored(attempt.received),
        )

    def _rejected(self, step: SpeakUser, attempt: Attempt, code: str, *, will_retry: bool) -> Spent:
        reason: SpentReason = "nudged" if code in ("reply_empty", "reply_repeated") else "regenerated"
        return self._spent(
            step,
            attempt,
            reason=reason if will_retry else "cut",
            code=code,
            error=_REPLY_PROBLEMS[code],
            will_retry=will_retry,
        )

    # the gateway

    async def _gateway(self, step: AskGateway) -> AsyncGenerator[Event, None]:
        messages = gateway_messages(self._spec, self._state.exchanges)
        with Patience(self._parties.guard, self._parties.gateway_deadlines) as patience:
            if not await self._waited(patience):
                return
            attempt = self._attempt(self._parties.gateway, messages, AttemptOptions(), patience)
            yield self._opened(step, step.round)
            async with aclosing(attempt.parts()) as parts:
                async for part in parts:
                    yield Shown(role="assistant", part=part)
        closing = attempt.closing
        if closing is None:
            yield self._spent_on_fault(step, attempt, step.round)
            return
        added: list[Part] = []
        if closing.finish_reason == "content_filter" and not joined(attempt.received, "refusal"):
            added.append(Refusal(text="The provider's content filter stopped the answer."))
        calls = open_calls(attempt.received)
        added.extend(self._parties.tools.answer(call) for call in calls)
        for part in added:
            yield Shown(role="assistant", part=part)
        yield AssistantSpoke(
            turn=step.turn,
            round=step.round,
            parts=tuple(merged([*attempt.received, *added])),
            usage=attempt.usage(),
            timing=attempt.timing(),
            truncated=closing.finish_reason == "length",
            awaits_round=bool(calls),
            notes=closing.notes,
        )

    # the judge

    async def _judge(self, step: AskJudge) -> AsyncGenerator[Event, None]:
        state = self._state
        messages = judge_messages(self._spec, state.exchanges, step.turn, state.problem)
        schema = None if state.schema_refused else OPINION_SCHEMA
        with Patience(self._parties.guard, self._parties.deadlines) as patience:
            if not await self._waited(patience):
                return
            attempt = self._attempt(
                self._parties.judge, messages, AttemptOptions(response_schema=schema), patience
            )
            yield self._opened(step)
            async with aclosing(attempt.parts()) as parts:
                async for _ in parts:
                    pass
        if attempt.closing is None:
            yield self._spent_on_fault(step, attempt, asked_schema=schema is not None)
            return
        try:
            read = read_opinion(
                joined(attempt.received, "content"),
                attempt.closing.finish_reason,
                bool(joined(attempt.received, "refusal")),
            )
        except OpinionUnreadable as problem_found:
            will_retry = attempts_left(state)
            yield self._spent(
                step,
                attempt,
                reason="retried" if will_retry else "cut",
                code=problem_found.code,
                error=problem_found.problem,
                will_retry=will_retry,
            )
            return
        yield self._opinion(step, attempt, read)

    def _opinion(self, step: AskJudge, attempt: Attempt, read: ReadOpinion) -> Opinion:
        spec, at = self._spec, self._state.current
        trajectory = judged(spec, read.score, self._state.opinion, step.turn, bool(at and at.exited))
        return Opinion(
            turn=step.turn,
            reasoning=read.reasoning,
            score=trajectory.score,
            turn_delta=trajectory.turn_delta,
            conversation_delta=trajectory.conversation_delta,
            loss_streak=trajectory.loss_streak,
            required_loss_streak=trajectory.required_loss_streak,
            state=trajectory.state,
            passed=trajectory.passed,
            should_continue=trajectory.should_continue,
            usage=attempt.usage(),
            timing=attempt.timing(),
            notes=attempt.closing.notes if attempt.closing else (),
        )

    # hooks

    async def _hook(self, step: CallHook) -> AsyncGenerator[Event, None]:
        if step.skip:
            yield HookCalled(
                index=step.index,
                event=step.hook.event,
                turn=step.turn,
                url=step.hook.url,
                called=False,
                continued=False,
                at_ms=self._clock.now_ms(),
            )
            return
        with Patience(self._parties.guard, None) as patience:
            try:
                answer = await patience.wait(
                    lambda: self._parties.hooks.call(step.hook, step.index, step.turn, self._hook_data(step))
                )
            except WaitEnded:
                return
        yield HookCalled(
            index=step.index,
            event=step.hook.event,
            turn=step.turn,
            url=step.hook.url,
            called=True,
            continued=answer.continued,
            at_ms=self._clock.now_ms(),
            status=answer.status,
            error=answer.error,
            body=answer.body,
        )

    def _hook_data(self, step: CallHook) -> dict[str, Any]:
        if step.hook.event == "before-test":
            return {"goal": self._spec.goal}
        if step.result:
            return asdict(step.result)
        messages = gateway_messages(self._spec, self._state.exchanges)
        return {"turn_number": step.turn, "messages": [message.wire() for message in messages]}

    # what all attempts share

    def _attempt(
        self, speaker: Speaker, messages: Sequence[Message], options: AttemptOptions, patience: Patience
    ) -> Attempt:
        return Attempt(speaker, messages, options, patience, self._clock)

    def _opened(self, step: SpeakUser | AskGateway | AskJudge, round: int = 1) -> Opened:
        return Opened(role=role_of(step), turn=step.turn, round=round)

    async def _waited(self, patience: Patience) -> bool:
        """Wait as the last fault asks, counted from when it happened. False if a stop came first."""
        spent = self._state.last_spent
        left_s = 0.0
        if spent and spent.wait_s and self._state.faults:
            left_s = spent.wait_s - (self._clock.now_ms() - spent.at_ms) / 1000
        try:
            if left_s > 0:
                await patience.wait(lambda: self._clock.sleep(left_s))
        except WaitEnded:
            return False
        return True

    def _spent_on_fault(
        self,
        step: SpeakUser | AskGateway | AskJudge,
        attempt: Attempt,
        round: int = 1,
        *,
        asked_schema: bool = False,
    ) -> Spent:
        if attempt.stopped or attempt.fault is None:
            stop = self._parties.guard.stopped()
            handed_over = stop is not None and stop.code == "handed_over"
            return self._spent(
                step,
                attempt,
                reason="handed_over" if handed_over else "cancelled",
                code=stop.code if stop else "cancelled",
                error=stop.message if stop else "The conversation was stopped.",
                will_retry=handed_over,
                round=round,
            )
        fault, code = attempt.fault, str(attempt.fault.code)
        may_retry = fault.retryable
        if asked_schema and fault.status in (400, 422):
            may_retry, code = True, RESPONSE_FORMAT_REFUSED
        will_retry = may_retry and attempts_left(self._state)
        return self._spent(
            step,
            attempt,
            reason="retried" if will_retry else "cut",
            code=code,
            error=fault.message,
            will_retry=will_retry,
            round=round,
            status=fault.status,
            wait_s=self._wait_s(step, fault) if will_retry and code != RESPONSE_FORMAT_REFUSED else 0.0,
        )

    def _wait_s(self, step: SpeakUser | AskGateway | AskJudge, fault: InferenceFault) -> float:
        failed = self._state.faults + 1
        purpose = f"backoff/{role_of(step)}/{failed}"
        return delay_s(failed, fault, draw(self._spec.seed, step.turn, purpose).random())

    def _spent(
        self,
        step: SpeakUser | AskGateway | AskJudge,
        attempt: Attempt,
        *,
        reason: SpentReason,
        code: str,
        error: str,
        will_retry: bool,
        round: int = 1,
        status: int | None = None,
        wait_s: float = 0.0,
    ) -> Spent:
        role: Speaking = role_of(step)
        return Spent(
            role=role,
            turn=step.turn,
            attempt=self._state.faults + 1,
            reason=reason,
            code=code,
            error=error,
            will_retry=will_retry,
            usage=attempt.spent_usage(),
            at_ms=self._clock.now_ms(),
            round=round,
            status=status,
            wait_s=wait_s,
        )


_REPLY_PROBLEMS = {
    "reply_empty": "The simulated user said nothing.",
    "reply_repeated": "The simulated user repeated its last message word for word.",
    "reply_role_swap": "The simulated user spoke as if it were the agent.",
    "reply_plan_leak": "The simulated user spoke about its own role or brief.",
    "reply_two_sided": "The simulated user wrote both sides of the talk.",
}


def _filtered(part: Part, reply: ReplyFilter, thought: TokenFilter) -> Part | None:
    match part:
        case Text():
            return _text(reply.feed(part.text))
        case Reasoning():
            return _reasoning(thought.feed(part.text))
        case _:
            return None


def _text(text: str) -> Text | None:
    return Text(text=text) if text else None


def _reasoning(text: str) -> Reasoning | None:
    return Reasoning(text=text) if text else None


def _ignored(parts: Sequence[Part]) -> tuple[str, ...]:
    """What a simulated user may not do and is not shown: call tools, refuse."""
    notes = []
    if any(isinstance(part, ToolCall) for part in parts):
        notes.append("Tool calls of the simulated user were ignored.")
    if any(isinstance(part, Refusal) for part in parts):
        notes.append("A refusal of the simulated user's llm was ignored.")
    return tuple(notes)
