"""What an attempt needs from outside: the agent with its app, the judge, time and ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from parley.engine.script.observation import Interrupt, Observation, Usage
from parley.engine.script.record import JudgeIdentity, StepRecord, Verification
from parley.engine.script.rubric import GradeRequest
from parley.engine.script.selection import Filter
from parley.engine.script.shapes import Case, LiteralResume, Named, Suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """Give the agent the user's words."""

    text: str
    kind: Literal["message"] = "message"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Give the agent the answer to a pause of its own."""

    interrupt: Interrupt
    resume: LiteralResume
    kind: Literal["resume"] = "resume"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOff:
    """Call off a pause that nobody will answer. What comes back is not looked at."""

    interrupt: Interrupt
    kind: Literal["cancel"] = "cancel"


Command: TypeAlias = Say | Answer | CallOff


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What came of a command. `continuation` is the app's own handle on a pause; it needs one."""

    observation: Observation
    continuation: Any = None


@dataclass(slots=True, kw_only=True)
class Context:
    """An attempt as the app sees it.

    `session_id` is unique to the attempt. `params` are the case's, as validated; `prepared` is what
    `setup` gave. `history` holds the completed steps, `continuation` that of the waiting pause.
    `deadline_s` is on the clock of the attempt (`Clock.monotonic_s`), None where nothing limits. `memory`
    is the app's own, for as long as the attempt lives.
    """

    suite: Suite
    case: Case
    attempt_id: str
    session_id: str
    repetition: int
    params: Any = None
    prepared: Any = None
    history: list[StepRecord] = field(default_factory=list)
    continuation: Any = None
    deadline_s: float | None = None
    memory: dict[str, Any] = field(default_factory=dict)


class App(Protocol):
    """The customer's side of an attempt. What raises here is an error of its phase, never a failure."""

    def validate_params(self, params: Any) -> Any:
        """The params of a case as `setup` gets them."""
        ...

    async def setup(self, context: Context) -> Any:
        """Prepare the attempt; what is returned becomes `context.prepared`."""
        ...

    async def execute(self, context: Context, command: Command) -> Execution:
        """Give the agent a command."""
        ...

    def responder_schema(self, name: str) -> tuple[str | None, str | None]:
        """The schema id and version that a responder answers; None for any."""
        ...

    async def respond(self, named: Named, context: Context, interrupt: Interrupt) -> LiteralResume:
        """The answer of a named responder to a pause."""
        ...

    async def reference(self, named: Named, context: Context) -> Any:
        """The JSON of a named reference."""
        ...

    @property
    def filters(self) -> Mapping[str, Filter]:
        """Evidence filters by name."""
        ...

    @property
    def verifies(self) -> bool:
        """Whether there is anything to verify."""
        ...

    async def verify(self, context: Context) -> Verification:
        """Look at the app itself after the conversation."""
        ...

    async def teardown(self, context: Context) -> None:
        """Take back what `setup` did."""
        ...

    async def report_error(self, context: Context, error: Exception) -> str | None:
        """Tell the app's own monitoring; a diagnostic id to keep with the error, if there is one."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """A judge's answer, unread: an object or an llm's text; and what it used."""

    answer: object
    usage: Usage | None = None


class Judge(Protocol):
    """Decides on criteria, one call each."""

    @property
    def identity(self) -> JudgeIdentity:
        """Which judge it is."""
        ...

    @property
    def max_evidence_chars(self) -> int:
        """More evidence than this is refused before a call."""
        ...

    async def grade(self, request: GradeRequest, problem: str | None) -> Graded:
        """Answer one request; `problem` says what was wrong with the last answer.

        Raises `JudgeUnreachable`, `JudgeFault`.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds. `setup_s` and `verify_s` are the case's unless set."""

    case_s: float = 60.0
    judge_s: float = 60.0
    setup_s: float | None = None
    verify_s: float | None = None
    cleanup_s: float = 10.0


NewId: TypeAlias = Callable[[], str]
