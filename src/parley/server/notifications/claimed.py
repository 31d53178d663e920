"""A delivery in the hands of this process."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from parley.server.notifications.facts import Facts, NewsKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelTarget:
    """The channel of a delivery, still sealed."""

    id: UUID
    format: str
    sealed_url: bytes = field(repr=False)
    sealed_secret: bytes | None = field(repr=False)
    enabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """One delivery that nobody else tries until its lease ends; `attempts` counts the one under way."""

    account_id: UUID
    id: UUID
    attempts: int
    email: str | None
    channel: ChannelTarget | None
    notification_id: UUID
    kind: NewsKind
    facts: Facts
    created_at: datetime
