"""What scripted cases are played against, as suites write it: a gateway, an app, the customer's process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import Discriminator, Field, StringConstraints, Tag, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from parley.engine.checks.faults import CheckRefused
from parley.engine.checks.schema import read_schema
from parley.engine.script.faults import Problem, SuiteInvalid
from parley.engine.script.plain import NotPlain, plain
from parley.engine.script.reading import problems_of
from parley.engine.script.rubric import ToolVisibility
from parley.engine.script.shapes import MAX_ITEMS, SHAPE_TAG, LiteralResume, Name, Named, Resume
from parley.engine.script.wire import Json, Many, Wire

MAX_STUBS: Final = 200
Url: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=2_000)]
Pointer: TypeAlias = Annotated[str, StringConstraints(max_length=500, pattern=r"^(/([^~/]|~[01])*)*$")]
"""A JSON pointer (RFC 6901) into the arguments of a call; empty for all of them."""


class Webhook(Wire):
    """An address of the customer's, called through the guard and signed like hooks."""

    url: Url


class Stub(Wire):
    """What a stubbed tool gives for arguments that hold all of `match`; without one for all.

    Exactly one of `result` and `error`; an error is told to the agent, as a tool would tell it.
    """

    payloads: ClassVar[frozenset[str]] = frozenset({"result", "error"})

    match: dict[str, Json] | None = None
    result: Json = None
    error: Json = None

    @model_validator(mode="after")
    def _one_end(self) -> Stub:
        if len(self.model_fields_set & {"result", "error"}) != 1:
            raise PydanticCustomError("stub", "must have exactly one of `result` and `error`")
        return self


class _Tool(Wire):
    """`description` and `parameters` (JSON Schema) may be left out for a tool that the gateway has itself."""

    payloads: ClassVar[frozenset[str]] = frozenset({"parameters"})

    name: Name
    description: Annotated[str, StringConstraints(max_length=4_000)] | None = None
    parameters: dict[str, Json] | None = None


class AutoTool(_Tool):
    """A tool that is answered at once: by the first stub that fits, or by a webhook."""

    type: Literal["auto"]
    stubs: Annotated[Many[Stub], Field(max_length=MAX_STUBS)] = ()
    webhook: Webhook | None = None

    @model_validator(mode="after")
    def _one_way(self) -> AutoTool:
        if bool(self.stubs) == bool(self.webhook):
            raise PydanticCustomError("auto_tool", "must have exactly one of `stubs` and `webhook`")
        return self


class InterruptTool(_Tool):
    """A tool whose call pauses the step; the resume becomes its result."""

    type: Literal["interrupt"]
    kind: Literal["text", "choice", "multi-choice", "custom"] = "text"
    question: Pointer | None = None
    options: Pointer | None = None
    schema_id: Name | None = None
    schema_version: Name | None = None

    @model_validator(mode="after")
    def _has_options(self) -> InterruptTool:
        if (self.options is not None) != (self.kind in ("choice", "multi-choice")):
            raise PydanticCustomError("interrupt_tool", "must have `options` exactly when it is a choice")
        return self


class OutputTool(_Tool):
    """A tool whose arguments are a structured output; the agent is told `result`."""

    payloads: ClassVar[frozenset[str]] = frozenset({"parameters", "result"})

    type: Literal["output"]
    schema_id: Name
    schema_version: Name | None = None
    result: Json = "accepted"


def _tool_shape(value: object) -> str | None:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return f"{SHAPE_TAG}{kind}" if isinstance(kind, str) else None


DeclaredTool: TypeAlias = Annotated[
    Annotated[AutoTool, Tag("#auto")]
    | Annotated[InterruptTool, Tag("#interrupt")]
    | Annotated[OutputTool, Tag("#output")],
    Discriminator(
        _tool_shape,
        custom_error_type="tool_shape",
        custom_error_message="must have a `type`: auto, interrupt or output",
    ),
]


class OutputFormat(Wire):
    """A structured output that every answer is asked for: a `response_format` of this name."""

    payloads: ClassVar[frozenset[str]] = frozenset({"json_schema"})

    schema_id: Name
    schema_version: Name | None = None
    json_schema: dict[str, Json]


class DeclaredResponder(Wire):
    """How a pause is answered: always alike, or by the one option whose label is `label`."""

    name: Name
    schema_id: Name | None = None
    schema_version: Name | None = None
    resume: Resume | None = None
    label: Name | None = None

    @model_validator(mode="after")
    def _one_way(self) -> DeclaredResponder:
        if (self.resume is None) == (self.label is None):
            raise PydanticCustomError("responder", "must have exactly one of `resume` and `label`")
        if isinstance(self.resume, Named):
            raise PydanticCustomError("responder", "must not name another responder")
        return self

    @property
    def literal(self) -> LiteralResume | None:
        """The answer that is always given."""
        return None if isinstance(self.resume, Named) else self.resume


class GatewayTarget(Wire):
    """An AI gateway that the service drives."""

    type: Literal["gateway"]
    gateway: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """Slug or id of a gateway, or @vendor/name."""
    model: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    """In place of the gateway's own."""
    tools: Annotated[Many[DeclaredTool], Field(max_length=MAX_ITEMS)] = ()
    outputs: Annotated[Many[OutputFormat], Field(max_length=1)] = ()
    """At most one: a request carries one `response_format`."""
    responders: Annotated[Many[DeclaredResponder], Field(max_length=MAX_ITEMS)] = ()
    tool_visibility: ToolVisibility
    """How much of the agent's tool calls can be seen: `full` only where it has none but those declared."""
    verify: Webhook | None = None
    """Asked after each conversation that came to its end; answers `{passed, reason, evidence?}`."""


class AppTarget(Wire):
    """A remote app that plays the attempts itself."""

    type: Literal["app"]
    app: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """Slug or id of a registered app."""


class ProcessTarget(Wire):
    """The customer's own process; what it played is sent in."""

    type: Literal["process"]


SuiteTarget: TypeAlias = GatewayTarget | AppTarget | ProcessTarget

_SHAPES: Final[Mapping[str, type[SuiteTarget]]] = {
    "gateway": GatewayTarget,
    "app": AppTarget,
    "process": ProcessTarget,
}


def read_target(data: object) -> SuiteTarget:
    """The target that `data` describes. Raises `SuiteInvalid`, and nothing else."""
    try:
        data = plain(data)
    except NotPlain as error:
        raise SuiteInvalid([error.problem]) from None
    kind = data.get("type") if isinstance(data, dict) else None
    shape = _SHAPES.get(kind) if isinstance(kind, str) else None
    if shape is None:
        raise SuiteInvalid([Problem("type", f"must be one of {', '.join(_SHAPES)}")])
    try:
        target = shape.of_wire(data)
    except ValidationError as error:
        raise SuiteInvalid(problems_of(error, shape)) from None
    if isinstance(target, GatewayTarget):
        _refuse_unsound(target)
    return target


def _refuse_unsound(target: GatewayTarget) -> None:
    problems = list(_unsound_schemas(target))
    named: Mapping[str, list[str]] = {
        "tools": [tool.name for tool in target.tools],
        "responders": [responder.name for responder in target.responders],
    }
    for field, names in named.items():
        problems += [
            Problem(f"{field}[{at}].name", f"is not unique: {name!r}")
            for at, name in enumerate(names)
            if name in names[:at]
        ]
    if problems:
        raise SuiteInvalid(problems)


def _unsound_schemas(target: GatewayTarget) -> Iterator[Problem]:
    for at, output in enumerate(target.outputs):
        try:
            read_schema(output.json_schema)
        except CheckRefused as refused:
            inner = f".{refused.path}" if refused.path else ""
            yield Problem(f"outputs[{at}].jsonSchema{inner}", refused.problem)


def frozen_facts(target: Mapping[str, Any]) -> SuiteTarget:
    """What a suite asked for, out of a plan's `target`."""
    return read_target(target["asked"])
