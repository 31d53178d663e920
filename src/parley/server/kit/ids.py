"""Ids: UUIDv7, made here and not in the database, so that they sort by the time they were made."""

from __future__ import annotations

from uuid import UUID

from uuid_utils.compat import uuid7


def new_id() -> UUID:
    """A new UUIDv7; ids made later in one process sort later."""
    return uuid7()


def parse_id(text: str) -> UUID | None:
    """The id written in `text` in the usual form (36 characters), or None."""
    if len(text) != 36:
        return None
    try:
        return UUID(text)
    except ValueError:
        return None
