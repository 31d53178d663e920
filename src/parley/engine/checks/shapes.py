"""What a customer writes to have an answer checked: one shape per type, strict, camelCase on the wire."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
)
from pydantic_core import PydanticCustomError

from parley.engine.checks.faults import CheckRefused
from parley.engine.checks.patterns import MAX_PATTERN_CHARS, read_pattern
from parley.engine.checks.schema import read_schema, written_path

MAX_CHECKS = 32
"""Checks beside one case or in one set of settings."""
MAX_TEXT_CHARS = 32_000
MAX_TOOLS = 100

Mode: TypeAlias = Literal["strict", "unordered", "subset", "superset"]
"""How the tools that were called relate to those expected: the same in order; the same in any order; some of
them; at least them. Repeated calls count as often as they stand there."""


def _decimal(value: Any) -> Any:
    """The decimal that was written: a JSON number went through a float, which tells its shortest form."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise PydanticCustomError("number", "should be a number")
    return value if isinstance(value, Decimal) else Decimal(str(value))


Number: TypeAlias = Annotated[Decimal, BeforeValidator(_decimal)]
Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_TEXT_CHARS)]
ToolName: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Check(_Shape):
    id: str | None = Field(default=None, min_length=1, max_length=100)
    must_pass: bool = Field(default=False, alias="mustPass")


class Contains(_Check):
    """The output contains `text`; with `not`, it does not."""

    type: Literal["contains"]
    text: Text
    ignore_case: bool = Field(default=False, alias="ignoreCase")
    negated: bool = Field(default=False, alias="not")


class Equals(_Check):
    """The output is `text`, white space at both ends aside; with `not`, it is not."""

    type: Literal["equals"]
    text: Text
    ignore_case: bool = Field(default=False, alias="ignoreCase")
    negated: bool = Field(default=False, alias="not")


class Regex(_Check):
    """`pattern` (RE2) matches anywhere in the output; with `not`, nowhere."""

    type: Literal["regex"]
    pattern: Annotated[str, Field(min_length=1, max_length=MAX_PATTERN_CHARS)]
    ignore_case: bool = Field(default=False, alias="ignoreCase")
    negated: bool = Field(default=False, alias="not")

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        _accept(lambda: read_pattern(pattern))
        return pattern


class JsonSchema(_Check):
    """The output is JSON that fits `schema`."""

    type: Literal["json_schema"]
    rules: Any = Field(alias="schema")

    @field_validator("rules")
    @classmethod
    def _is_a_schema(cls, rules: Any) -> Any:
        _accept(lambda: read_schema(rules))
        return rules


class Trajectory(_Check):
    """The names of the tools that were called relate to `tools` as `mode` says."""

    type: Literal["trajectory"]
    tools: list[ToolName] = Field(max_length=MAX_TOOLS)
    mode: Mode


class Similarity(_Check):
    """The output is at least `min` (0..1) like `text`, by default like what the case expects."""

    type: Literal["similarity"]
    text: Text | None = None
    method: Literal["jaccard", "rouge-l"]
    min: Annotated[Number, Field(ge=0, le=1)]


class Latency(_Check):
    """The agent took at most `maxMs` milliseconds."""

    type: Literal["latency"]
    max_ms: Annotated[int, Field(ge=1, le=86_400_000, alias="maxMs")]


class Cost(_Check):
    """The agent's answer cost at most `maxUsd`."""

    type: Literal["cost"]
    max_usd: Annotated[Number, Field(ge=0, le=1_000_000, alias="maxUsd")]


Check: TypeAlias = Annotated[
    Contains | Equals | Regex | JsonSchema | Trajectory | Similarity | Latency | Cost,
    Field(discriminator="type"),
]
Checks: TypeAlias = Annotated[list[Check], Field(max_length=MAX_CHECKS)]
"""A field of checks, for the shapes that hold some."""

_CHECKS: TypeAdapter[list[Check]] = TypeAdapter(Checks)


def read_checks(source: Any) -> list[Check]:
    """The checks in plain JSON data. Raises `CheckRefused` for the first that is wrong."""
    try:
        return _CHECKS.validate_python(source)
    except ValidationError as refusal:
        error = refusal.errors(include_url=False, include_input=False)[0]
        raise CheckRefused(error["msg"], written_path(_without_branch(error["loc"]))) from None


def _without_branch(loc: Iterable[int | str]) -> list[int | str]:
    """A place as it was sent, without the step that names the branch of the union."""
    return [step for at, step in enumerate(loc) if at != 1]


def _accept(read: Callable[[], object]) -> None:
    try:
        read()
    except CheckRefused as refusal:
        raise PydanticCustomError("check", "{problem}", {"problem": str(refusal)}) from None
