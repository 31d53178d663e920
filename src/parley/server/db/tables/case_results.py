"""Case results: one per case and repetition of an evaluation."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CheckConstraint,
    ForeignKeyConstraint,
    Index,
    Integer,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Owned, Table, same_account
from parley.server.kit.money import ZERO_USD

OPEN_STATUSES = ("pending", "scoring")


class CaseResult(Owned, Table):
    """One result. `pending` waits for a scorer (or for its run), `scoring` is held by one until
    `lease_until` on the database's clock; `rated`, `failed` and `skipped` never change."""

    __tablename__ = "case_results"
    __table_args__ = (
        CheckConstraint(
            "status IN ('pending', 'scoring', 'rated', 'failed', 'skipped')", name="status_known"
        ),
        CheckConstraint("rating IS NULL OR (rating >= 0 AND rating <= 10)", name="rating_in_bounds"),
        CheckConstraint("status <> 'rated' OR rating IS NOT NULL", name="rated_has_rating"),
        CheckConstraint(
            "status <> 'failed' OR (num_nonnulls(rating, passed) = 2 AND rating = 0 AND NOT passed)",
            name="failed_is_zero",
        ),
        CheckConstraint("status <> 'skipped' OR num_nonnulls(rating, passed) = 0", name="skipped_is_null"),
        CheckConstraint("(scored_at IS NULL) = (status IN ('pending', 'scoring'))", name="scored_when_ended"),
        CheckConstraint("(lease_token IS NOT NULL) = (status = 'scoring')", name="leased_when_scoring"),
        ForeignKeyConstraint(
            ["account_id", "evaluation_id", "case_id"],
            ["evaluation_cases.account_id", "evaluation_cases.evaluation_id", "evaluation_cases.case_id"],
            ondelete="CASCADE",
        ),
        same_account("evaluation_id", "evaluations", ondelete="CASCADE"),
        UniqueConstraint("account_id", "evaluation_id", "case_id", "repetition"),
        Index(
            "uq_case_results_key",
            "account_id",
            "evaluation_id",
            "idempotency_key",
            unique=True,
            postgresql_where=text("idempotency_key IS NOT NULL"),
        ),
        Index("ix_case_results_run", "account_id", "run_id", postgresql_where=text("run_id IS NOT NULL")),
        # What scorers look at: results of custom cases that wait, or whose scorer was lost.
        Index(
            "ix_case_results_waiting",
            "account_id",
            "id",
            postgresql_where=text("kind = 'custom' AND status IN ('pending', 'scoring')"),
        ),
        # And those of simulated cases whose conversation is judged again; others wait for their runs.
        Index(
            "ix_case_results_rejudged",
            "account_id",
            "id",
            postgresql_where=text(
                "kind = 'simulated' AND regraded_from IS NOT NULL AND status IN ('pending', 'scoring')"
            ),
        ),
    )

    evaluation_id: Mapped[UUID]
    case_id: Mapped[str]
    repetition: Mapped[int] = mapped_column(Integer)
    kind: Mapped[str]
    """custom, simulated or scripted."""
    status: Mapped[str] = mapped_column(default="pending", server_default="pending")
    rating: Mapped[Decimal | None]
    passed: Mapped[bool | None]
    justification: Mapped[str | None]
    checks: Mapped[list[dict[str, Any]]] = mapped_column(default=list, server_default="[]")
    """As `schemas.CheckOutcome` writes them."""
    cost: Mapped[Decimal] = mapped_column(default=ZERO_USD, server_default="0")
    """US dollars: what grading cost, or the run of a simulated case."""
    duration_ms: Mapped[int | None]
    error: Mapped[dict[str, Any] | None]
    """`{type, message}` of a failed or skipped one."""
    run_id: Mapped[UUID | None]
    """The run of a simulated case. No foreign key: a result outlives its run."""
    transcript: Mapped[dict[str, Any] | None]
    """What was judged: output, turns, tool calls, retrieval context, usage. NULL where the run tells it."""
    judgement: Mapped[dict[str, Any] | None]
    """What the judge said, votes and all, as the producer writes it."""
    idempotency_key: Mapped[str | None]
    batch_id: Mapped[str | None]
    regraded_from: Mapped[UUID | None]
    """The result whose transcript was judged again. No foreign key: it may be deleted."""
    attempts: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    """Scorers that have held it."""
    lease_token: Mapped[UUID | None]
    lease_until: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    scored_at: Mapped[datetime | None]

    @property
    def lost_scorers(self) -> int:
        """Scorers that were lost over it: what they had asked of a judge is charged to nobody."""
        return max(0, self.attempts - (self.status != "pending"))
