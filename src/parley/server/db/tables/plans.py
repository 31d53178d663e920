"""Plans: what an account may do and what it pays. Seeded by migrations, edited by operators."""

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
        CheckConstraint("resources_per_test >= 0", name="resources_per_test_not_negative"),
        CheckConstraint("integrated_requests_per_day >= 0", name="integrated_requests_per_day_not_negative"),
        CheckConstraint("integrated_tokens_per_day >= 0", name="integrated_tokens_per_day_not_negative"),
    )

    code: Mapped[str] = mapped_column(primary_key=True)
    runs_per_minute: Mapped[int | None] = mapped_column(Integer)
    """New runs in any 60 seconds; NULL is no limit."""
    concurrent_runs: Mapped[int] = mapped_column(Integer)
    multiplier: Mapped[Decimal] = mapped_column(Numeric(8, 4))
    """Times the cost of user, judge and integrated llms."""
    metered: Mapped[bool] = mapped_column(default=True)
    """Whether usage is charged at all."""
    resources_per_test: Mapped[int] = mapped_column(Integer, default=16, server_default="16")
    """Most resources of a test that is started; no test has more than 16."""
    integrated_requests_per_day: Mapped[int | None] = mapped_column(Integer)
    """Inferences of integrated llms in any 24 hours, looked at when something starts; NULL is no limit."""
    integrated_tokens_per_day: Mapped[int | None]
    """The same for their tokens, of prompts and completions."""
