"""Attempts: scripted cases being played, or played elsewhere and sent in."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, Index, Integer, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Dated, Owned, Table, same_account
from parley.server.kit.money import ZERO_USD


class Attempt(Owned, Dated, Table):
    """One attempt at one scripted case; its case result tells what it came to.

    `queued` waits for a worker, `running` is held by one until `lease_until` on the database's clock,
    `finished` never changes but for a later grading of what stayed ungraded.
    """

    __tablename__ = "attempts"
    __table_args__ = (
        CheckConstraint("state IN ('queued', 'running', 'finished')", name="state_known"),
        CheckConstraint("target IN ('gateway', 'app', 'process')", name="target_known"),
        CheckConstraint(
            "status IN ('error', 'cancelled', 'failed', 'inconclusive', 'ungraded', 'passed')",
            name="status_known",
        ),
        CheckConstraint("(state = 'finished') = (status IS NOT NULL)", name="status_when_finished"),
        CheckConstraint("state <> 'finished' OR record IS NOT NULL", name="record_when_finished"),
        CheckConstraint("lease_token IS NULL OR state = 'running'", name="leased_when_running"),
        same_account("evaluation_id", "evaluations", ondelete="CASCADE"),
        same_account("result_id", "case_results", ondelete="CASCADE"),
        UniqueConstraint("account_id", "evaluation_id", "case_id", "repetition"),
        Index("ix_attempts_result", "account_id", "result_id"),
        # What workers look at, and what holds the account's slots.
        Index(
            "ix_attempts_open", "account_id", "id", postgresql_where=text("state IN ('queued', 'running')")
        ),
    )

    evaluation_id: Mapped[UUID]
    result_id: Mapped[UUID]
    case_id: Mapped[str]
    repetition: Mapped[int] = mapped_column(Integer)
    session_id: Mapped[str]
    """What the agent knows the attempt by."""
    target: Mapped[str]
    """Who plays it: gateway and app through our workers, process in the customer's own code."""
    lock: Mapped[str | None]
    """Attempts of an evaluation with one lock are never played at the same time."""
    replay_safe: Mapped[bool] = mapped_column(default=False, server_default="false")
    state: Mapped[str] = mapped_column(default="queued", server_default="queued")
    contact: Mapped[str | None]
    """How it stands with a remote app that does not answer as it should: retrying, reconnecting, unknown."""
    cursor: Mapped[int] = mapped_column(default=0, server_default="0")
    """The last event of a remote app that was taken in."""
    last_seen_at: Mapped[datetime | None]
    """When a remote app was last heard of."""
    takes: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    """Workers that have held it."""
    worker: Mapped[str | None]
    """The process that holds it, or did last."""
    lease_token: Mapped[UUID | None]
    lease_until: Mapped[datetime | None]
    cancel_requested_at: Mapped[datetime | None]
    status: Mapped[str | None]
    """What it came to, highest first: error, cancelled, failed, inconclusive, ungraded, passed."""
    reason: Mapped[str | None]
    """Why, in one line; NULL for what passed."""
    record: Mapped[dict[str, Any] | None]
    """`engine.script.record.AttemptRecord` on the wire: so far, and at last whole."""
    duration_ms: Mapped[int | None]
    workflow_cost: Mapped[Decimal | None]
    """US dollars that the agent cost; NULL is unknown, never free."""
    judge_cost: Mapped[Decimal | None]
    """US dollars that judging cost; NULL is unknown."""
    charged: Mapped[Decimal] = mapped_column(default=ZERO_USD, server_default="0")
    """US dollars that the account paid us for it."""
    last_charge: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    """The last entry that it made in the ledger."""
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
