"""The conversation so far, turn by turn, and as the gateway is told it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from parley.engine.events import AssistantSpoke, Opinion, UserSpoke
from parley.engine.messages import Message, history, joined
from parley.engine.spec import Spec


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One turn. `user` is None when `start` opened the turn; `rounds` are the gateway's calls.

    Without slots, so that what every later prompt repeats is put together once.
    """

    turn: int
    user: UserSpoke | None = None
    rounds: tuple[AssistantSpoke, ...] = ()
    opinion: Opinion | None = None

    @cached_property
    def user_text(self) -> str:
        """The words of the user, or an empty string."""
        return joined(self.user.parts, "content") if self.user else ""

    @cached_property
    def lines(self) -> tuple[Message, ...]:
        """What was said, as the gateway is told it."""
        asked = (Message(role="user", content=self.user_text),) if self.user_text else ()
        return asked + tuple(line for spoken in self.rounds for line in history(spoken.parts))

    @property
    def exited(self) -> bool:
        """Whether the simulated user left at this turn."""
        return self.user is not None and self.user.exited

    @property
    def is_silent_exit(self) -> bool:
        """Whether the user left without a word, so that there is nothing to answer."""
        return self.exited and not self.user_text

    @property
    def wants_round(self) -> bool:
        """Whether the gateway has not answered yet, or was given results for calls it left open."""
        return not self.rounds or self.rounds[-1].awaits_round


def gateway_messages(spec: Spec, exchanges: Sequence[Exchange]) -> tuple[Message, ...]:
    """The history sent to the gateway: `start` unchanged, then what was said. Always valid."""
    lines = list(spec.start)
    for exchange in exchanges:
        lines.extend(exchange.lines)
    return tuple(lines)


def gateway_has_spoken(spec: Spec, exchanges: Sequence[Exchange]) -> bool:
    """Whether there is any answer that a user could react to, `start` included."""
    return any(line.role == "assistant" for line in spec.start) or any(e.rounds for e in exchanges)
