"""Direct evaluations: what is accounted for, never what was said."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from sqlalchemy import CheckConstraint, Index, Integer, text
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Dated, Owned, Table
from parley.server.kit.money import ZERO_USD


class DirectCall(Owned, Dated, Table):
    """One direct evaluation: its slot, its lease and its cost, without any content."""

    __tablename__ = "direct_calls"
    __table_args__ = (
        CheckConstraint("state IN ('running', 'ended')", name="state_known"),
        Index("ix_direct_calls_open", "account_id", "id", postgresql_where=text("state = 'running'")),
        Index("ix_direct_calls_ended", "account_id", "finished_at", postgresql_where=text("state = 'ended'")),
    )

    state: Mapped[str] = mapped_column(default="running", server_default="running")
    outcome: Mapped[str | None]
    error_code: Mapped[str | None]
    cost: Mapped[Decimal] = mapped_column(default=ZERO_USD, server_default="0")
    last_seq: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    lease_until: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
