"""Retention overrides: accounts whose runs are kept for another time than everyone's."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Integer, func
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Table


class RetentionOverride(Table):
    """How long the runs of one account are kept. Made by operators."""

    __tablename__ = "retention_overrides"
    __table_args__ = (CheckConstraint("days BETWEEN 1 AND 36500", name="days_in_bounds"),)

    account_id: Mapped[UUID] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True)
    days: Mapped[int] = mapped_column(Integer)
    """Days from the end of a run; cancelled runs go earlier where everyone's do."""
    set_at: Mapped[datetime] = mapped_column(server_default=func.now())
