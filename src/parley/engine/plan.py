"""What comes next in a conversation, decided from its entries alone.

Since the plan knows nothing but the spec and the state, a conversation goes on after any entry in
the same way, whoever holds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from parley.engine.events import SCOPES, Failure, HookCalled, Scope, Speaking, Verdict
from parley.engine.judging.trajectory import judge_is_due, verdict_of
from parley.engine.simulator.prompt import Nudge
from parley.engine.spec import MAX_ATTEMPTS, MAX_ROUNDS, Hook, HookEvent, Spec
from parley.engine.state import WORKER_LOST, State
from parley.engine.talk import Exchange

MAX_TAKEOVERS = 3
"""Lost workers without a new entry after which a conversation is given up (product contract)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallHook:
    """Call one hook, or with `skip` note that it is not called since one before it refused."""

    turn: int
    hook: Hook
    index: int
    skip: bool = False
    result: Verdict | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakUser:
    """Let the simulated user speak."""

    turn: int
    may_exit: bool
    nudge: Nudge | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskGateway:
    """Let the gateway answer, or go on after tool results."""

    turn: int
    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AskJudge:
    """Ask for an opinion on the talk so far."""

    turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """Nothing is left to do but to write the end."""

    turn: int
    verdict: Verdict | None = None
    failure: Failure | None = None
    behaviour: Verdict | None = None


Step: TypeAlias = CallHook | SpeakUser | AskGateway | AskJudge | Finish


def next_step(spec: Spec, state: State) -> Step | None:
    """The next step, or None when the end is written."""
    if state.ended:
        return None
    return (
        _after_refusal(spec, state)
        or _given_up(state)
        or _hook(spec, state, "before-test", 0)
        or _in_turn(spec, state)
    )


def scope_of(spec: Spec, step: Step | None) -> Scope:
    """The scope of the step under way: the inference it makes, or the one that follows."""
    match step:
        case AskJudge() | Finish():
            return "judge_analysis"
        case AskGateway():
            return "gateway_inference"
        case CallHook(turn=0) if spec.gateway_opens:
            return "gateway_inference"
        case CallHook(hook=Hook(event="before-inference" | "after-inference")):
            return "gateway_inference"
        case CallHook(hook=Hook(event="context-changed" | "after-test")):
            return "judge_analysis"
        case _:
            return "user_inference"


def _in_turn(spec: Spec, state: State) -> Step:
    at = state.current
    if at is not None and _is_answered(at):
        return _after_answer(spec, state, at)
    turn = max(state.turn, 1)
    opened_by_start = turn == 1 and spec.gateway_opens
    if (at is None or at.user is None) and not opened_by_start:
        return _speak(spec, state, turn)
    return (
        _hook(spec, state, "before-inference", turn)
        or (_hook(spec, state, "after-inference", turn) if at and at.rounds else None)
        or AskGateway(turn=turn, round=len(at.rounds) + 1 if at else 1)
    )


def _is_answered(at: Exchange) -> bool:
    if at.is_silent_exit:
        return True
    return bool(at.rounds) and (not at.wants_round or len(at.rounds) >= MAX_ROUNDS)


def _after_answer(spec: Spec, state: State, at: Exchange) -> Step:
    if not at.is_silent_exit:
        hook = _hook(spec, state, "after-inference", at.turn) or _hook(
            spec, state, "context-changed", at.turn
        )
        if hook:
            return hook
    if at.opinion is None and judge_is_due(spec, at.turn, at.exited):
        return AskJudge(turn=at.turn)
    verdict = verdict_of(spec, at.opinion, at.turn, at.exited)
    if verdict is None:
        return _speak(spec, state, at.turn + 1)
    return _hook(spec, state, "after-test", at.turn, verdict) or Finish(turn=at.turn, verdict=verdict)


def _speak(spec: Spec, state: State, turn: int) -> SpeakUser:
    nudge: Nudge | None = None
    if state.rejections and turn == max(state.turn, 1):
        nudge = _NUDGES.get(state.rejections[-1], "rejected")
    return SpeakUser(turn=turn, may_exit=spec.allow_user_exit and turn >= spec.minimum_turns, nudge=nudge)


_NUDGES: dict[str, Nudge] = {"reply_empty": "empty", "reply_repeated": "repeated"}


def _hook(
    spec: Spec, state: State, event: HookEvent, turn: int, result: Verdict | None = None
) -> CallHook | None:
    for index, hook in enumerate(spec.hooks):
        if hook.event == event and not _is_called(state, event, turn, index):
            return CallHook(turn=turn, hook=hook, index=index, result=result)
    return None


def _is_called(state: State, event: HookEvent, turn: int, index: int) -> bool:
    return any(call.index == index and call.event == event and call.turn == turn for call in state.hooks)


def _after_refusal(spec: Spec, state: State) -> Step | None:
    refusal = next((call for call in state.hooks if call.called and not call.continued), None)
    if refusal is None:
        return None
    rest = _hook(spec, state, refusal.event, refusal.turn)
    if rest:
        return CallHook(turn=rest.turn, hook=rest.hook, index=rest.index, skip=True)
    return Finish(
        turn=refusal.turn, verdict=_interrupted(state, refusal), behaviour=_behaviour(spec, state, refusal)
    )


def _interrupted(state: State, refusal: HookCalled) -> Verdict:
    opinion = state.opinion
    return Verdict(
        outcome="interrupted",
        reason="validation_hook_interrupted",
        state="interrupted",
        turn_number=refusal.turn,
        score=opinion.conversation_delta if opinion else None,
        conversation_delta=opinion.conversation_delta if opinion else Decimal("0.5"),
        loss_streak=opinion.loss_streak if opinion else 0,
    )


def _behaviour(spec: Spec, state: State, refusal: HookCalled) -> Verdict | None:
    at = state.current
    if refusal.event != "after-test" or at is None:
        return None
    return verdict_of(spec, at.opinion, at.turn, at.exited)


def _given_up(state: State) -> Finish | None:
    spent = state.last_spent
    if spent is None:
        return None
    scope = SCOPES[spent.role]
    if state.takeovers >= MAX_TAKEOVERS:
        message = "The run was given up: its workers were lost three times without getting any further."
        return _failed(spent.turn, WORKER_LOST, message, scope)
    if not spent.will_retry and spent.reason == "cut":
        return _failed(spent.turn, scope, spent.error, scope)
    return None


def _failed(turn: int, code: str, message: str, scope: Scope) -> Finish:
    return Finish(turn=turn, failure=Failure(code=code, message=message, scope=scope, turn=turn))


def attempts_left(state: State) -> bool:
    """Whether another attempt may follow if the one under way fails."""
    return state.faults + 1 < MAX_ATTEMPTS


def role_of(step: SpeakUser | AskGateway | AskJudge) -> Speaking:
    """Who speaks at a step."""
    match step:
        case SpeakUser():
            return "user"
        case AskGateway():
            return "assistant"
        case AskJudge():
            return "judge"
