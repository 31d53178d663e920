"""Agentic tests: the stored definitions."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, Index, Integer, text
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Dated, Owned, Table, same_account


class AgenticTest(Owned, Dated, Table):
    """One test. What is evaluated is one JSON value, read and written as a whole; what is listed,
    searched, scheduled or notified by is columns, so that those paths never touch the large value.

    A deleted test keeps its row until its runs are gone, and lets its gateway go at once.
    """

    __tablename__ = "agentic_tests"
    __table_args__ = (
        same_account("gateway_id", "ai_gateways"),
        CheckConstraint(
            "deleted_at IS NOT NULL OR num_nonnulls(gateway_id, integrated_llm) = 1", name="one_target"
        ),
        CheckConstraint("notification_threshold >= 1", name="notification_threshold_positive"),
        Index("ix_agentic_tests_live", "account_id", "id", postgresql_where=text("deleted_at IS NULL")),
        Index(
            "ix_agentic_tests_deleted", "account_id", "id", postgresql_where=text("deleted_at IS NOT NULL")
        ),
        CheckConstraint("(next_run_at IS NULL) = (looked_at_from IS NULL)", name="looked_at_when_due"),
        Index("ix_agentic_tests_gateway", "account_id", "gateway_id", "id"),
        Index(
            "ix_agentic_tests_due",
            "looked_at_from",
            "account_id",
            postgresql_where=text("looked_at_from IS NOT NULL"),
        ),
    )

    name: Mapped[str]
    gateway_id: Mapped[UUID | None]
    integrated_llm: Mapped[str | None]
    """`@vendor/name`, in place of a gateway."""
    fields: Mapped[dict[str, Any]]
    """The evaluated fields and the hooks, as `definitions.schemas.stored` writes them."""
    cron: Mapped[str | None]
    enabled: Mapped[bool] = mapped_column(default=True, server_default="true")
    failure_notification: Mapped[bool] = mapped_column(default=True, server_default="true")
    notification_threshold: Mapped[int] = mapped_column(Integer, default=1, server_default="1")
    recovery_notification: Mapped[bool] = mapped_column(default=True, server_default="true")
    outcome_notification: Mapped[bool] = mapped_column(default=False, server_default="false")
    next_run_at: Mapped[datetime | None]
    """When it is due next. Stays in the past while the account has no quota for it."""
    looked_at_from: Mapped[datetime | None]
    """When schedulers look at it: at `next_run_at`, or later once its account had no quota."""
    last_skip_due_at: Mapped[datetime | None]
    last_skip_reason: Mapped[str | None]
    consecutive_failures: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    failing_since: Mapped[datetime | None]
    """End of the first of these failures."""
    alerted_at: Mapped[datetime | None]
    """When these failures were told; NULL while they were not."""
    last_outcome: Mapped[str | None]
    """Outcome of the last run that was carried out."""
    outcome_alerted_at: Mapped[datetime | None]
    """When the turn from success to what it is now was told; NULL while there is none, or it was not."""
    last_notification_at: Mapped[datetime | None]
    deleted_at: Mapped[datetime | None]
