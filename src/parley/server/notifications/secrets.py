"""Where the sealed columns of a channel live."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from parley.server.db.tables import Channel
from parley.server.kit.crypto import Place


def place_of(account_id: UUID, channel_id: UUID, field: Literal["url", "secret"]) -> Place:
    """The place of one sealed column."""
    return Place(account_id, Channel.__tablename__, channel_id, field)
