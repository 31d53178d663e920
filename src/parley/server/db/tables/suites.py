"""Suites: named sets of simulated and scripted cases."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Index, Integer, text
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Dated, Owned, Table


class Suite(Owned, Dated, Table):
    """One suite. A deleted one keeps its row: evaluations of it stay."""

    __tablename__ = "suites"
    __table_args__ = (
        Index("ix_suites_live", "account_id", "id", postgresql_where=text("deleted_at IS NULL")),
        Index("ix_suites_due", "next_run_at", "account_id", postgresql_where=text("next_run_at IS NOT NULL")),
    )

    name: Mapped[str]
    version: Mapped[int] = mapped_column(Integer, default=1, server_default="1")
    """Counts changes of the cases."""
    content: Mapped[dict[str, Any]]
    """Description, cases and defaults, as `suites.content` writes them."""
    cron: Mapped[str | None]
    enabled: Mapped[bool] = mapped_column(default=True, server_default="true")
    next_run_at: Mapped[datetime | None]
    """When its schedule starts the next evaluation."""
    last_skip_due_at: Mapped[datetime | None]
    last_skip_reason: Mapped[str | None]
    deleted_at: Mapped[datetime | None]
