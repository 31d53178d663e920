"""What a suite may say: cases, steps, expectations, evidence. Bounds stand with their fields."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    model_validator,
)
from pydantic_core import PydanticCustomError

from parley.engine.blank import is_blank
from parley.engine.script.wire import Json, Many, Wire

MAX_WORDS: Final = 32_000
"""Characters of one message, criterion or resume; as many as a goal may have."""
MAX_CASES: Final = 1_000
MAX_STEPS: Final = 100
MAX_CRITERIA: Final = 20
"""Of one step: each is a judge call of its own."""
MAX_ITEMS: Final = 100
"""Of any other list."""
MAX_REPETITIONS: Final = 100
MAX_LATENCY_MS: Final = 3_600_000
SHAPE_TAG: Final = "#"
"""Begins the names of a union's branches, which are no part of a path."""
CRITERION_ID_CHARS: Final = 16
"""Hex digits of a default criterion id: 64 bits, so that texts of one suite never meet."""

EventName: TypeAlias = Literal[
    "tool-call-start",
    "tool-call-result",
    "tool-call-error",
    "tool-result",
    "structured-data",
    "structured-data-invalidated",
    "interrupt",
    "error",
    "cancelled",
    "limit-reached",
]
"""The events that a judge may see."""


def _not_blank(value: str) -> str:
    if is_blank(value):
        raise PydanticCustomError("blank", "must not be blank")
    return value


Name: TypeAlias = Annotated[str, StringConstraints(max_length=256), AfterValidator(_not_blank)]
"""An id, or the name of a tool, a schema, a handler."""
Words: TypeAlias = Annotated[str, StringConstraints(max_length=MAX_WORDS), AfterValidator(_not_blank)]


class Named(Wire):
    """A handler of the app by its name, with parameters of its own."""

    payloads: ClassVar[frozenset[str]] = frozenset({"params"})

    using: Name
    params: Json = None


class ResumeText(Wire):
    """Answer a pause in words."""

    type: Literal["text"]
    text: Words


class ResumeSelect(Wire):
    """Answer a pause by options it offers; exactly one for a `choice`."""

    type: Literal["select"]
    ids: Annotated[Many[Name], Field(max_length=MAX_ITEMS)]


class ResumeValue(Wire):
    """Answer a custom pause with a value of any kind."""

    payloads: ClassVar[frozenset[str]] = frozenset({"value"})

    type: Literal["value"]
    value: Json


class ResumeCancel(Wire):
    """Call off what the agent waits for."""

    type: Literal["cancel"]


LiteralResume: TypeAlias = ResumeText | ResumeSelect | ResumeValue | ResumeCancel


def _resume_shape(value: object) -> str | None:
    if isinstance(value, dict):
        kind = "using" if "using" in value else value.get("type")
        return f"{SHAPE_TAG}{kind}" if isinstance(kind, str) else None
    return f"{SHAPE_TAG}{'using' if isinstance(value, Named) else getattr(value, 'type', '')}"


Resume: TypeAlias = Annotated[
    Annotated[ResumeText, Tag("#text")]
    | Annotated[ResumeSelect, Tag("#select")]
    | Annotated[ResumeValue, Tag("#value")]
    | Annotated[ResumeCancel, Tag("#cancel")]
    | Annotated[Named, Tag("#using")],
    Discriminator(
        _resume_shape,
        custom_error_type="resume_shape",
        custom_error_message="must have a `type` (text, select, value, cancel), or name a responder: `using`",
    ),
]


class Output(Wire):
    """A structured output that must have been completed in this step."""

    schema_id: Name
    schema_version: Name | None = None


class Count(Wire):
    """How often, both bounds included."""

    min: Annotated[int, Field(ge=0)] = 0
    max: Annotated[int, Field(ge=0)] | None = None


def _count(value: object) -> object:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return {"min": value, "max": value} if is_number else value


class ToolExpect(Wire):
    """What must be true of the calls of one tool within the step.

    `called` false means that no call, or none with these `arguments`, was made. `arguments` are a
    subset of a call's own, compared by value; with `exact` they are all of them. `after` names a tool
    whose first call stands before the first call of this one.
    """

    name: Name
    called: bool = True
    count: Annotated[Count, BeforeValidator(_count)] | None = None
    arguments: dict[str, Json] | None = None
    exact: bool = False
    after: Name | None = None

    @model_validator(mode="after")
    def _consistent(self) -> ToolExpect:
        if not self.called and (self.count or self.after):
            raise PydanticCustomError(
                "tool_not_called", "has `called: false`, so neither `count` nor `after`"
            )
        if self.exact and self.arguments is None:
            raise PydanticCustomError("tool_exact", "has `exact` without `arguments`")
        return self


Phrases: TypeAlias = Annotated[Many[Words], Field(max_length=MAX_ITEMS)]


class TextExpect(Wire):
    """What the final words must hold and must not. `matches` are RE2 patterns, found anywhere."""

    contains: Phrases = ()
    not_contains: Phrases = ()
    matches: Phrases = ()
    not_matches: Phrases = ()
    ignore_case: bool = False


class Criterion(Wire):
    """One thing that the judge decides on, apart from all others."""

    id: Name
    text: Words


def criterion_id(text: str) -> str:
    """The id of a criterion that was written without one: its content."""
    return hashlib.sha256(text.encode()).hexdigest()[:CRITERION_ID_CHARS]


def _criterion(value: object) -> object:
    return {"id": criterion_id(value), "text": value} if isinstance(value, str) and value else value


Criteria: TypeAlias = Annotated[
    Many[Annotated[Criterion, BeforeValidator(_criterion)]], Field(max_length=MAX_CRITERIA)
]


class Expect(Wire):
    """What a step must give."""

    payloads: ClassVar[frozenset[str]] = frozenset({"json_schema"})

    type: Literal["answer", "interrupt"]
    schema_id: Name | None = None
    schema_version: Name | None = None
    outputs: Annotated[Many[Output], Field(max_length=MAX_ITEMS)] = ()
    tools: Annotated[Many[ToolExpect], Field(max_length=MAX_ITEMS)] = ()
    text: TextExpect | None = None
    json_schema: dict[str, Json] | bool | None = None
    max_latency_ms: Annotated[int, Field(ge=1, le=MAX_LATENCY_MS)] | None = None
    criteria: Criteria = ()
    reference: Json = None

    @property
    def named_reference(self) -> Named | None:
        """The reference handler, when `reference` is exactly `{using, params?}`."""
        value = self.reference
        if not isinstance(value, dict) or not {"using"} <= set(value) <= {"using", "params"}:
            return None
        return Named.of_wire(value) if isinstance(value["using"], str) and value["using"] else None

    @property
    def checks_nothing(self) -> bool:
        """Whether nothing but the type is expected, so that an answer must at least not be empty."""
        return not (
            self.outputs
            or self.tools
            or self.text
            or self.json_schema is not None
            or self.criteria
            or self.max_latency_ms
        )


class Step(Wire):
    """One exchange: the words of the user, or the answer to a pause, and what must come back."""

    message: Words | None = None
    resume: Resume | None = None
    expect: Expect

    @model_validator(mode="after")
    def _one_input(self) -> Step:
        if (self.message is None) == (self.resume is None):
            raise PydanticCustomError("step_input", "must have exactly one of `message` and `resume`")
        return self


class Case(Wire):
    """One conversation."""

    payloads: ClassVar[frozenset[str]] = frozenset({"params"})

    id: Name
    name: Name | None = None
    params: Json = None
    steps: Annotated[Many[Step], Field(min_length=1, max_length=MAX_STEPS)]
    splits: Annotated[Many[Name], Field(max_length=MAX_ITEMS)] = ()
    lock: Name | None = None
    repetitions: Annotated[int, Field(ge=1, le=MAX_REPETITIONS)] = 1
    replay_safe: bool = False


class OutputSelector(Wire):
    """Structured outputs that carry all of these ids."""

    data_type: Name | None = None
    schema_id: Name | None = None
    schema_version: Name | None = None

    @model_validator(mode="after")
    def _names_something(self) -> OutputSelector:
        if self.data_type is None and self.schema_id is None:
            raise PydanticCustomError("selector", "must name a `dataType` or a `schemaId`")
        return self


def _selection_shape(value: object) -> str | None:
    if value is False:
        return "#off"
    if isinstance(value, list | tuple):
        return "#list"
    return "#using" if isinstance(value, dict | Named) else None


_SELECTION: Final[dict[str, Any]] = {
    "custom_error_type": "selection_shape",
    "custom_error_message": "must be false, a list, or name a filter with `using`; left out it means all",
}
EventSelection: TypeAlias = Annotated[
    Annotated[Literal[False], Tag("#off")]
    | Annotated[Annotated[Many[EventName], Field(max_length=MAX_ITEMS)], Tag("#list")]
    | Annotated[Named, Tag("#using")],
    Discriminator(_selection_shape, **_SELECTION),
]
OutputSelection: TypeAlias = Annotated[
    Annotated[Literal[False], Tag("#off")]
    | Annotated[Annotated[Many[OutputSelector], Field(max_length=MAX_ITEMS)], Tag("#list")]
    | Annotated[Named, Tag("#using")],
    Discriminator(_selection_shape, **_SELECTION),
]


class Evidence(Wire):
    """What the judge sees of each step. None inherits; inherited from nobody it means all."""

    history: bool | None = None
    events: EventSelection | None = None
    outputs: OutputSelection | None = None

    def over(self, defaults: Evidence) -> Evidence:
        """This policy, field by field over `defaults`."""
        return Evidence(
            history=defaults.history if self.history is None else self.history,
            events=defaults.events if self.events is None else self.events,
            outputs=defaults.outputs if self.outputs is None else self.outputs,
        )


EVIDENCE_DEFAULTS: Final = Evidence(history=True)
"""Earlier steps, all events a judge may see, and all outputs."""


class Suite(Wire):
    """Cases with one policy of evidence."""

    id: Name
    name: Name | None = None
    cases: Annotated[Many[Case], Field(min_length=1, max_length=MAX_CASES)]
    evidence: Evidence = Evidence()
    on_semantic_failure: Literal["stop", "continue"] = "stop"

    def case(self, case_id: str) -> Case:
        """The case with this id. Raises LookupError."""
        for case in self.cases:
            if case.id == case_id:
                return case
        raise LookupError(f"suite {self.id!r} has no case {case_id!r}")
