"""Lists, page by page."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from parley.sdk.call import Call

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """A part of a list, newest first. `next_cursor` leads to the part behind it, None at the end."""

    items: list[T]
    next_cursor: str | None


def page_of(model: type[M]) -> Callable[[Any], Page[M]]:
    """Reads `{"data": [...], "page": {...}}`."""

    def read(body: Any) -> Page[M]:
        items = [model.model_validate(item) for item in body["data"]]
        return Page(items=items, next_cursor=body["page"]["next_cursor"])

    return read


def following(call: Call[Page[T]], page: Page[T]) -> Call[Page[T]] | None:
    """The call for the page behind `page`; None at the end."""
    if page.next_cursor is None:
        return None
    params = {name: value for name, value in call.params.items() if name != "offset"}
    return dataclasses.replace(call, params=params | {"cursor": page.next_cursor})
