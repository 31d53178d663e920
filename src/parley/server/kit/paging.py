"""Lists, newest first. Ids are UUIDv7, so the newest row has the largest id and a cursor is an id."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from uuid import UUID

DEFAULT_LIMIT = 50
MAX_LIMIT = 100
MAX_OFFSET = 10_000
"""Deeper pages want a cursor: an offset costs as much as the rows it skips (our choice)."""


class BadCursorError(ValueError):
    """The cursor was not made here."""


@dataclass(frozen=True, slots=True)
class Paging:
    """One page as it was asked for, already clamped. `before` is the id the page starts under."""

    limit: int = DEFAULT_LIMIT
    offset: int = 0
    before: UUID | None = None

    @staticmethod
    def asked(limit: int | None, offset: int | None, cursor: str | None) -> Paging:
        """A page from a request's parameters. Raises `BadCursorError`."""
        clamped = DEFAULT_LIMIT if limit is None else min(max(limit, 1), MAX_LIMIT)
        if cursor:
            return Paging(limit=clamped, before=read_cursor(cursor))
        return Paging(limit=clamped, offset=min(max(offset or 0, 0), MAX_OFFSET))


def write_cursor(last: UUID) -> str:
    """The cursor of the page that follows the row `last`."""
    return base64.urlsafe_b64encode(last.bytes).decode().rstrip("=")


def read_cursor(cursor: str) -> UUID:
    """The id in `cursor`. Raises `BadCursorError`."""
    try:
        return UUID(bytes=base64.b64decode(cursor + "==", altchars=b"-_", validate=True))
    except (binascii.Error, ValueError):
        raise BadCursorError(cursor) from None
