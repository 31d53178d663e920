"""Wire shapes: the base of every body, the envelope of every answer, and shared field types."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Final, Generic, TypeAlias, TypeVar
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticCustomError

from parley.engine.blank import is_blank
from parley.server.kit.clock import rfc3339
from parley.server.kit.ids import parse_id
from parley.server.kit.text import is_one_line

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands where a request's JSON should be: what is wrong with it, and in which field."""

    problem: str
    field: str = ""


MOST_UNKNOWN_FIELDS: Final = 1_000
"""Each is told by its name; a body may have hundreds of thousands, which would hold up everybody."""


class Body(BaseModel):
    """The base of what a caller sends: strict types, unknown fields refused, texts as they are."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _is_an_object(cls, value: Any) -> Any:
        if isinstance(value, Unreadable):
            raise PydanticCustomError(
                "unreadable_body", "{problem}", {"problem": value.problem, "field": value.field}
            )
        if isinstance(value, bytes | bytearray):
            raise PydanticCustomError("content_type", "send it as application/json")
        most = MOST_UNKNOWN_FIELDS + len(cls.model_fields)
        if isinstance(value, dict) and len(value) > most and cls.model_config.get("extra") == "forbid":
            raise PydanticCustomError("too_many_fields", "must not have {sent} fields", {"sent": len(value)})
        return value


class Answer(BaseModel):
    """The base of what the service sends."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


class Reply(Answer, Generic[T]):
    """The envelope of one answer."""

    message: str | None = None
    data: T


class PageInfo(Answer):
    """Where a list stands."""

    limit: int = Field(description="Rows asked for, after clamping to 1..100.", examples=[50])
    offset: int = Field(description="Rows skipped; 0 with a cursor.", examples=[0])
    has_more: bool = Field(description="Whether older rows follow.")
    next_cursor: str | None = Field(description="Send as `cursor` for the next page; null at the end.")


class Listing(Answer, Generic[T]):
    """The envelope of a list, newest first."""

    message: str | None = None
    data: list[T]
    page: PageInfo


class ErrorReply(Answer):
    """The envelope of every error."""

    error: str = Field(description="A sentence a person can act on.")
    code: str = Field(description="One of the codes in docs/reference/errors.md.")
    details: Any = Field(default=None, description="A list of faults, an object, or null.")


def _id(value: Any) -> Any:
    if isinstance(value, UUID):
        return value
    found = parse_id(value) if isinstance(value, str) else None
    if found is None:
        raise PydanticCustomError("id", "should be an id (a UUID string)")
    return found


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise PydanticCustomError("number", "should be a number")
    return value if isinstance(value, Decimal) else Decimal(str(value))


def _instant(value: Any) -> Any:
    if not isinstance(value, str | datetime):
        raise PydanticCustomError("instant", "should be an RFC 3339 time such as 2027-01-31T12:00:00Z")
    return value


def _aware(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise PydanticCustomError("instant", "should name its offset, such as 2027-01-31T12:00:00Z")
    try:
        return value.astimezone(UTC)
    except OverflowError:  # the first and the last day there are, moved by their offset
        raise PydanticCustomError("instant", "is too early or too late a time") from None


def _visible(value: str) -> str:
    if is_blank(value):
        raise PydanticCustomError("blank", "must not be blank")
    return value


def _one_line(value: str) -> str:
    if not is_one_line(value):
        raise PydanticCustomError("control", "must not hold control characters or line ends")
    return value


Visible = AfterValidator(_visible)
"""For texts that people have to see: spaces and invisible characters alone are refused."""
OneLine = AfterValidator(_one_line)
"""For names and labels: control characters and ends of lines are refused."""
NameIn: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=200), Visible, OneLine]
"""What people call something, in a body."""
IdIn: TypeAlias = Annotated[UUID, BeforeValidator(_id)]
"""An id in a body."""
DecimalIn: TypeAlias = Annotated[
    Decimal, BeforeValidator(_number, json_schema_input_type=float), PlainSerializer(float, return_type=float)
]
"""A JSON number kept as the decimal it was written as."""
InstantIn: TypeAlias = Annotated[
    datetime, BeforeValidator(_instant), Field(strict=False), AfterValidator(_aware)
]
"""A time in a body; must name its offset."""
Instant: TypeAlias = Annotated[
    datetime, PlainSerializer(rfc3339, return_type=str), Field(examples=["2027-01-31T12:00:00.000Z"])
]
"""A time in an answer: RFC 3339, UTC, `Z`."""
Usd: TypeAlias = Annotated[Decimal, PlainSerializer(float, return_type=float), Field(examples=[0.00125])]
"""Dollars in an answer: a JSON number."""
