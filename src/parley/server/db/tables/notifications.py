"""Notifications: what an account is told after a run."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, Index, func, text
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Owned, Table


class Notification(Owned, Table):
    """One message, as facts; each delivery words them for its reader.

    There is no foreign key to test and run: a log outlives what it speaks of.
    """

    __tablename__ = "notifications"
    __table_args__ = (
        CheckConstraint(
            "kind IN ('test.failing', 'test.recovered', 'behaviour.lost', 'behaviour.regained', "
            "'gate.failed', 'channel.test')",
            name="kind_known",
        ),
        # However often a run is looked at, it is told of once.
        Index(
            "uq_notifications_run",
            "account_id",
            "run_id",
            "kind",
            unique=True,
            postgresql_where=text("run_id IS NOT NULL"),
        ),
        Index("ix_notifications_created_at", "created_at"),
    )

    kind: Mapped[str]
    test_id: Mapped[UUID | None]
    run_id: Mapped[UUID | None]
    facts: Mapped[dict[str, Any]]
    """As `notifications.facts` writes them; the names are those of that moment."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
