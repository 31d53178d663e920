"""What a conversation produces: deltas, which are shown, and entries, which are kept.

Every inference attempt ends in exactly one entry: `UserSpoke`, `AssistantSpoke`, `Opinion` or
`Spent`. The n-th entry of a conversation has the sequence number n, from 1. Deltas belong to the
entry that comes next.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from parley.engine.chat.pieces import Usage
from parley.engine.messages import Part, Reasoning, Refusal, Text, ToolCall, ToolResult
from parley.engine.spec import HookEvent

Speaking: TypeAlias = Literal["user", "assistant", "judge"]
Scope: TypeAlias = Literal["user_inference", "gateway_inference", "judge_analysis"]
Outcome: TypeAlias = Literal["success", "loss", "incomplete", "interrupted"]
Standing: TypeAlias = Literal["active", "at_risk", "success", "loss"]
EndReason: TypeAlias = Literal[
    "baseline_reached",
    "loss_threshold_persisted",
    "simulated_user_ended_conversation",
    "max_turns_reached",
    "validation_hook_interrupted",
]
EndState: TypeAlias = Literal["success", "loss", "ended", "max_turns", "interrupted"]
SpentReason: TypeAlias = Literal["retried", "nudged", "regenerated", "cancelled", "cut", "handed_over"]

SCOPES: dict[Speaking, Scope] = {
    "user": "user_inference",
    "assistant": "gateway_inference",
    "judge": "judge_analysis",
}


def role_in(scope: Scope) -> Speaking:
    """Who speaks in `scope`."""
    return next(role for role, theirs in SCOPES.items() if theirs == scope)


# Deltas


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """An attempt begins. `round` counts the gateway's calls within the turn, from 1."""

    role: Speaking
    turn: int
    round: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A part of the open message, as it arrives."""

    role: Speaking
    part: Part


Delta: TypeAlias = Opened | Shown


# Entries


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """When an inference ended (epoch milliseconds), how long it took, and its first piece."""

    at_ms: int
    took_ms: int
    first_piece_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSpoke:
    """A message of the simulated user; with `exited` it is its last, and may be without words."""

    turn: int
    parts: tuple[Reasoning | Text, ...]
    usage: Usage
    timing: Timing
    exited: bool = False
    notes: tuple[str, ...] = ()
    kind: Literal["user"] = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantSpoke:
    """One round of the gateway's answer, with the results given to the calls it left open.

    `awaits_round` tells that results were given, so that the gateway is called again in this turn.
    """

    turn: int
    round: int
    parts: tuple[Text | Reasoning | Refusal | ToolCall | ToolResult, ...]
    usage: Usage
    timing: Timing
    truncated: bool = False
    awaits_round: bool = False
    notes: tuple[str, ...] = ()
    kind: Literal["assistant"] = "assistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What the judge says at a turn, with all arithmetic done.

    `score` is clamped to 0.001..0.999; `turn_delta = 2 * score - 1`; see `judging.trajectory`.
    """

    turn: int
    reasoning: str
    score: Decimal
    turn_delta: Decimal
    conversation_delta: Decimal
    loss_streak: int
    required_loss_streak: int
    state: Standing
    passed: bool
    should_continue: bool
    usage: Usage
    timing: Timing
    notes: tuple[str, ...] = ()
    kind: Literal["opinion"] = "opinion"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """An inference attempt whose words are not kept. `usage` is None when it cost nothing.

    `code` is a `FaultCode` or the name of what was wrong with the reply. Without `will_retry` the
    next entry is the end, or another worker goes on. `wait_s` is how long the next attempt waits.
    `attempt` is 0 for a worker that was lost while no inference was under way.
    """

    role: Speaking
    turn: int
    attempt: int
    reason: SpentReason
    code: str
    error: str
    will_retry: bool
    usage: Usage | None
    at_ms: int
    round: int = 1
    status: int | None = None
    wait_s: float = 0.0
    kind: Literal["spent"] = "spent"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCalled:
    """One call of one hook (its place in the definition is `index`), or the note that it was not made.

    `called` is False for the hooks that stand behind a refusal. `body` is at most 4,000 characters.
    """

    index: int
    event: HookEvent
    turn: int
    url: str
    called: bool
    continued: bool
    at_ms: int
    status: int | None = None
    error: str | None = None
    body: str = ""
    kind: Literal["hook"] = "hook"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a conversation could not be carried to its end."""

    code: str
    message: str
    scope: Scope
    turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of a conversation that was carried to its end."""

    outcome: Outcome
    reason: EndReason
    state: EndState
    turn_number: int
    score: Decimal | None
    conversation_delta: Decimal
    loss_streak: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The last entry: a `verdict`, a `failure`, or `cancelled` with neither.

    `behaviour` is the verdict that stood before a hook after the test refused it. `scope` tells which
    step was under way, or next, when it was cancelled.
    """

    at_ms: int
    verdict: Verdict | None = None
    failure: Failure | None = None
    behaviour: Verdict | None = None
    cancelled: bool = False
    scope: Scope | None = None
    kind: Literal["ended"] = "ended"


Entry: TypeAlias = UserSpoke | AssistantSpoke | Opinion | Spent | HookCalled | Ended
Event: TypeAlias = Delta | Entry

ENTRY: TypeAdapter[Entry] = TypeAdapter(
    Annotated[UserSpoke | AssistantSpoke | Opinion | Spent | HookCalled | Ended, Field(discriminator="kind")]
)
"""Reads and writes one entry as JSON; decimals travel as strings, so that nothing is rounded."""
