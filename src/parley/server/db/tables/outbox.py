"""The outbox: what has happened and still wants a reaction."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index, Integer, func
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Table


class OutboxRow(Table):
    """One thing that happened, written in the transaction in which it did, gone once it was reacted to.

    There is no foreign key to what it speaks of: a reaction to something deleted does nothing.
    """

    __tablename__ = "outbox"
    __table_args__ = (Index("ix_outbox_due", "kind", "due_at"), Index("ix_outbox_created_at", "created_at"))

    account_id: Mapped[UUID] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    group_id: Mapped[UUID] = mapped_column(primary_key=True)
    """Rows of one group are reacted to in order; for the end of a run, its test."""
    subject_id: Mapped[UUID] = mapped_column(primary_key=True)
    """What it happened to: a run."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    due_at: Mapped[datetime] = mapped_column(server_default=func.now())
    """When it is looked at; later than `created_at` after a reaction that broke."""
    tries: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    """Reactions that broke."""
