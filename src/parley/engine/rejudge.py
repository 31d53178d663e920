"""A kept conversation judged again: the same words, another judge or other criteria, no word said anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, NoReturn

from parley.engine.converse import converse
from parley.engine.events import AssistantSpoke, Ended, Entry, Failure, Opinion, Spent, UserSpoke, Verdict
from parley.engine.grading.judge import NeverStopped
from parley.engine.messages import Message, ToolCall
from parley.engine.plan import AskJudge, Finish, next_step
from parley.engine.ports import AttemptOptions, Clock, Deadlines, Parties, Speaker
from parley.engine.spec import Hook, Spec
from parley.engine.state import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejudged:
    """What a judge makes of a kept conversation.

    `verdict` is None where the words end before this judge came to one, and where it failed (`failure`).
    """

    opinions: tuple[Opinion, ...]
    verdict: Verdict | None = None
    failure: Failure | None = None


async def judge_again(
    spec: Spec,
    kept: Iterable[Entry],
    judge: Speaker,
    clock: Clock,
    deadlines: Deadlines,
    spend: Callable[[Opinion | Spent], None],
) -> Rejudged:
    """Ask `judge` wherever the conversation of `kept` would ask one, up to the first end that it finds.

    Each attempt is told to `spend` as soon as it is over. `spec` has no hooks: nobody is called again.
    """
    if spec.hooks:
        raise ValueError("a conversation that is judged again calls no hooks")
    parties = _parties(judge, clock, deadlines)
    state = State()
    for entry in kept:
        if not isinstance(entry, UserSpoke | AssistantSpoke):
            continue
        state = state.after(entry)
        while isinstance(next_step(spec, state), AskJudge):
            made = await _asked(spec, parties, state)
            spend(made)
            state = state.after(made)
        match next_step(spec, state):
            case Finish(verdict=verdict, failure=failure):
                return Rejudged(opinions=_opinions(state), verdict=verdict, failure=failure)
    return Rejudged(opinions=_opinions(state))


async def _asked(spec: Spec, parties: Parties, state: State) -> Opinion | Spent:
    """One attempt, as the conversation itself would make it."""
    async with aclosing(converse(spec, parties, state)) as events:
        async for event in events:
            if isinstance(event, Opinion | Spent):
                return event
            if isinstance(event, Ended):
                break
    raise RuntimeError("a conversation at its judge asked nobody")


def _opinions(state: State) -> tuple[Opinion, ...]:
    return tuple(exchange.opinion for exchange in state.exchanges if exchange.opinion)


def _parties(judge: Speaker, clock: Clock, deadlines: Deadlines) -> Parties:
    nobody = _Nobody()
    return Parties(
        user=nobody,
        gateway=nobody,
        judge=judge,
        guard=NeverStopped(),
        hooks=nobody,
        tools=nobody,
        clock=clock,
        deadlines=deadlines,
        gateway_deadlines=deadlines,
    )


class _Nobody:
    """In the seats of those who have said what they had to say."""

    model = ""

    def attempt(self, messages: Sequence[Message], options: AttemptOptions) -> NoReturn:
        raise AssertionError("nobody but the judge is asked again")

    async def call(self, hook: Hook, index: int, turn: int, data: dict[str, Any]) -> NoReturn:
        raise AssertionError("no hook is called again")

    def answer(self, call: ToolCall) -> NoReturn:
        raise AssertionError("no tool is answered again")
