"""Lists, page by page."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from parley.sdk.call import Call

if TYPE_CHECKING:
    from pydantic import BaseModel

T = TypeVar("T")
M = TypeVar("M", bound="BaseModel")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """A part of a list. Behind it stand more items if it `has_more`; `next_cursor` leads there if it is told,
    an offset of `offset` and the items here otherwise."""

    items: list[T]
    has_more: bool
    next_cursor: str | None = None
    offset: int = 0


def page_of(model: type[M]) -> Callable[[Any], Page[M]]:
    """Reads `{"data": [...], "page": {...}}`."""

    def read(body: Any) -> Page[M]:
        items = [model.model_validate(item) for item in body["data"]]
        page = body["page"]
        return Page(
            items=items,
            has_more=page["has_more"],
            next_cursor=page.get("next_cursor"),
            offset=page.get("offset", 0),
        )

    return read


def shell_page_of(name: str, model: type[M]) -> Callable[[Any], Page[M]]:
    """Reads `{name: [...], "page": {...}}` of the shell plane, which speaks camelCase."""

    def read(body: Any) -> Page[M]:
        items = [model.model_validate(item) for item in body[name]]
        page = body["page"]
        return Page(
            items=items,
            has_more=page["hasMore"],
            next_cursor=page.get("nextCursor"),
            offset=page.get("offset", 0),
        )

    return read


def following(call: Call[Page[T]], page: Page[T]) -> Call[Page[T]] | None:
    """The call for the page behind `page`; None at the end."""
    if not page.has_more or not page.items:
        return None
    params = {name: value for name, value in call.params.items() if name != "offset"}
    place = (
        {"offset": page.offset + len(page.items)}
        if page.next_cursor is None
        else {"cursor": page.next_cursor}
    )
    return dataclasses.replace(call, params=params | place)
