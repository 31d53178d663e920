"""Plans: what an account may do and what it pays. Seeded by the first migration."""

from __future__ import annotations

from decimal import Decimal

from sqlalchemy import CheckConstraint, Integer, Numeric
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Table


class Plan(Table):
    """One plan, by its code: free, pro, max."""

    __tablename__ = "plans"
    __table_args__ = (
        CheckConstraint("runs_per_minute > 0", name="runs_per_minute_positive"),
        CheckConstraint("concurrent_runs > 0", name="concurrent_runs_positive"),
        CheckConstraint("multiplier >= 0", name="multiplier_not_negative"),
    )

    code: Mapped[str] = mapped_column(primary_key=True)
    runs_per_minute: Mapped[int | None] = mapped_column(Integer)
    """New runs in any 60 seconds; NULL is no limit."""
    concurrent_runs: Mapped[int] = mapped_column(Integer)
    multiplier: Mapped[Decimal] = mapped_column(Numeric(8, 4))
    """Times the cost of user, judge and integrated llms."""
    metered: Mapped[bool] = mapped_column(default=True)
    """Whether usage is charged at all."""
