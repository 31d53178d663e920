"""What a conversation needs from outside. Each port has a small fake in `parley.engine.fakes`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from parley.engine.chat.pieces import Piece
from parley.engine.messages import Message, ToolCall, ToolResult
from parley.engine.spec import Hook


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptOptions:
    """What an attempt asks for beside its messages.

    `response_schema` is the JSON Schema of a structured answer (None: plain text), `response_name` what it
    is called; `more_room` asks for a larger token budget after an answer that its reasoning ate up.
    """

    response_schema: dict[str, Any] | None = None
    response_name: str = "answer"
    more_room: bool = False


class Speaker(Protocol):
    """An llm with its settings: the simulated user, the gateway, or the judge."""

    model: str

    def attempt(self, messages: Sequence[Message], options: AttemptOptions) -> AsyncGenerator[Piece, None]:
        """Make one attempt: its pieces, then one `Closing`. Raises `InferenceFault`.

        Closing the generator, or cancelling the task that waits in it, closes the connection.
        """
        ...


StopCode: TypeAlias = Literal[
    "cancelled",
    "time_limit",
    "entry_limit",
    "balance_exhausted",
    "account_suspended",
    "shutdown",
    "handed_over",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Why a conversation may not go on. `handed_over` leaves it open for another worker."""

    code: StopCode
    message: str


class Guard(Protocol):
    """May this conversation go on?"""

    async def may_start_turn(self, turn: int) -> Stop | None:
        """Asked before each turn: account active, balance positive, and all of `stopped`."""
        ...

    def stopped(self) -> Stop | None:
        """Asked before each step, never waiting: cancelled, out of time, shutting down."""
        ...

    def on_stop(self, interrupt: Callable[[], None]) -> None:
        """Set what to call when `stopped` turns true during a step."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HookAnswer:
    """What came back from a hook: only a 2xx lets the run continue."""

    continued: bool
    status: int | None = None
    error: str | None = None
    body: str = ""


class Hooks(Protocol):
    """Calls customers' addresses."""

    async def call(self, hook: Hook, index: int, turn: int, data: dict[str, Any]) -> HookAnswer:
        """Call one hook once. Never raises for anything the customer's side does."""
        ...


class Tools(Protocol):
    """Answers the tool calls a gateway leaves open."""

    def answer(self, call: ToolCall) -> ToolResult:
        """The result to send back for `call`."""
        ...


class Clock(Protocol):
    """Time, held still in tests."""

    def now_ms(self) -> int:
        """Wall clock, epoch milliseconds."""
        ...

    def monotonic_s(self) -> float:
        """A clock that only goes forward, seconds."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """Bounds of one inference, seconds: its first piece, the gap between pieces, the whole."""

    first_piece_s: float = 60.0
    idle_s: float = 60.0
    whole_s: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Parties:
    """Everything a conversation talks to."""

    user: Speaker
    gateway: Speaker
    judge: Speaker
    guard: Guard
    hooks: Hooks
    tools: Tools
    clock: Clock
    deadlines: Deadlines = Deadlines()
    gateway_deadlines: Deadlines = Deadlines()
