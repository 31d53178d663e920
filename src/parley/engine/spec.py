"""The frozen input of one conversation. Bounds are checked where a test is defined, not here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from parley.engine.messages import Message

HookEvent: TypeAlias = Literal[
    "before-test", "before-inference", "after-inference", "context-changed", "after-test"
]

REQUIRED_LOSS_STREAK = 2
"""Judged turns in a row at or under the loss threshold that make a loss (product contract)."""
MAX_ROUNDS = 8
"""Gateway calls within one turn, tool rounds included (product contract)."""
MAX_ATTEMPTS = 3
"""Attempts at one reply or one opinion (product contract)."""
MAX_REPLIES = 2
"""Replies of the simulated user that one message may cost (product contract)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSampling:
    """How varied the simulated user is: `round(top_k * 5)` traits, each redrawn with `max_decay`."""

    top_k: float = 0.4
    max_decay: float = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMock:
    """The answer to a tool call the gateway leaves open: `result`, or `error`, never both.

    `match` holds arguments the call must have (a subset, compared by value); None fits every call.
    """

    name: str
    match: Mapping[str, Any] | None = None
    result: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A customer's address that is called at `event` and may end the run."""

    event: HookEvent
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One conversation to be held: what is wanted, how it is judged, and its limits.

    `goal` is seen by the simulated user and the judge, `validation_criteria` by the judge alone,
    `resources` (texts as fetched) by user and judge; the gateway sees none of them.
    """

    goal: str
    seed: int
    validation_criteria: str | None = None
    start: tuple[Message, ...] = ()
    resources: tuple[str, ...] = ()
    hooks: tuple[Hook, ...] = ()
    tool_mocks: tuple[ToolMock, ...] = ()
    max_turns: int = 10
    minimum_turns: int = 1
    allow_user_exit: bool = True
    judge_start_turn: int = 1
    loss_threshold: Decimal = Decimal("0.2")
    base_threshold: Decimal = Decimal("0.9")
    user_sampling: UserSampling = field(default_factory=UserSampling)

    @property
    def gateway_opens(self) -> bool:
        """Whether `start` ends in a line the gateway has to answer, as turn 1."""
        return bool(self.start) and self.start[-1].role in ("user", "tool")

    @property
    def secret(self) -> str:
        """What the gateway is never told, as one text; marks in prompts come from it."""
        return f"{self.seed}/{self.goal}"
