"""Deliveries: the way of one notification to one reader."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, Index, Integer, func, text
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Owned, Table, same_account


class Delivery(Owned, Table):
    """One notification for one channel or e-mail address, with what became of it."""

    __tablename__ = "deliveries"
    __table_args__ = (
        same_account("notification_id", "notifications", ondelete="CASCADE"),
        same_account("channel_id", "channels", ondelete="CASCADE"),
        CheckConstraint("num_nonnulls(channel_id, email) = 1", name="one_reader"),
        CheckConstraint("state IN ('pending', 'delivered', 'failed')", name="state_known"),
        CheckConstraint("(state = 'pending') = (finished_at IS NULL)", name="finished_when_ended"),
        Index(
            "uq_deliveries_reader",
            "account_id",
            "notification_id",
            "channel_id",
            "email",
            unique=True,
            postgresql_nulls_not_distinct=True,
        ),
        Index("ix_deliveries_channel", "account_id", "channel_id", "id"),
        Index("ix_deliveries_due", "next_attempt_at", postgresql_where=text("state = 'pending'")),
    )

    notification_id: Mapped[UUID]
    channel_id: Mapped[UUID | None]
    email: Mapped[str | None]
    """In place of a channel."""
    state: Mapped[str] = mapped_column(default="pending", server_default="pending")
    attempts: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    next_attempt_at: Mapped[datetime] = mapped_column(server_default=func.now())
    """When it is tried; while it is tried, when it may be taken from a process that was lost."""
    status: Mapped[int | None] = mapped_column(Integer)
    """What the last attempt was answered: HTTP or SMTP."""
    error: Mapped[str | None]
    """Why the last attempt failed, in words for the account's eyes."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    finished_at: Mapped[datetime | None]
