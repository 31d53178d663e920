"""Channels: where an account's notifications go besides its e-mail."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Dated, Owned, Table


class Channel(Owned, Dated, Table):
    """One webhook. The address is sealed as well as the secret: whoever knows a chat's webhook can write."""

    __tablename__ = "channels"
    __table_args__ = (
        CheckConstraint("format IN ('json', 'slack')", name="format_known"),
        CheckConstraint("format <> 'json' OR sealed_secret IS NOT NULL", name="json_is_signed"),
    )

    name: Mapped[str]
    format: Mapped[str]
    shown_url: Mapped[str]
    """Scheme and host of the address."""
    sealed_url: Mapped[bytes] = mapped_column(LargeBinary)
    sealed_secret: Mapped[bytes | None] = mapped_column(LargeBinary)
    """What messages of the format json are signed with."""
    enabled: Mapped[bool] = mapped_column(default=True, server_default="true")
