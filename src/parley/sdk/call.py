"""One call of the API as data: what is sent, and how its answer is read. Two drivers carry it out."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar
from urllib.parse import quote

if TYPE_CHECKING:
    from pydantic import BaseModel

T = TypeVar("T")
M = TypeVar("M", bound="BaseModel")

Method: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
NO_BODY: Any = object()
"""Stands for a request without a body; None would be sent as null."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[T]):
    """A request and the reader of its answer.

    `is_repeatable` tells that sending it twice does no more than sending it once: reads, replacements,
    and whatever carries an Idempotency-Key or keys of its own. `timeout_s` is how long an answer may keep
    us waiting, None for the client's own.
    """

    method: Method
    path: str
    read: Callable[[Any], T]
    params: Mapping[str, str | int | float] = field(default_factory=dict)
    body: Any = NO_BODY
    headers: Mapping[str, str] = field(default_factory=dict)
    is_repeatable: bool = False
    timeout_s: float | None = None


def get(path: str, read: Callable[[Any], T], **params: Any) -> Call[T]:
    """A read. Parameters that are None are left out."""
    return Call(method="GET", path=path, read=read, params=given(params), is_repeatable=True)


def once(key: str | None) -> Mapping[str, str]:
    """The header that makes a start happen once, however often it is sent."""
    return {"Idempotency-Key": key or str(uuid.uuid4())}


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what was not given; truth as the API spells it in an address."""
    spelt = {True: "true", False: "false"}
    return {
        name: spelt[value] if isinstance(value, bool) else value
        for name, value in values.items()
        if value is not None
    }


def segment(value: object) -> str:
    """An id as a part of a path."""
    return quote(str(value), safe="")


def nothing(_: Any) -> None:
    """Reads an answer without a body."""


def data_of(model: type[M]) -> Callable[[Any], M]:
    """Reads `{"data": ...}`."""
    return lambda body: model.model_validate(body["data"])


def bare(model: type[M]) -> Callable[[Any], M]:
    """Reads a body that is the answer itself."""
    return model.model_validate
