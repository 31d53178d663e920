"""Evaluations: one execution of a set of cases each, with the cases frozen."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, Index, Integer, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Dated, Owned, Table, same_account
from parley.server.kit.money import ZERO_USD

OPEN_STATES = ("in_progress", "scoring")
ENDED_STATES = ("completed", "failed", "expired", "cancelled")
STATES = (*OPEN_STATES, *ENDED_STATES)


class Evaluation(Owned, Dated, Table):
    """One evaluation of a dataset or a suite.

    `in_progress` takes results, `scoring` waits for scores alone; the other states never change. What
    makes two comparable stands here: `grading_hash` (grader and pass mark) and `split`.
    """

    __tablename__ = "evaluations"
    __table_args__ = (
        CheckConstraint(
            "state IN ('in_progress', 'scoring', 'completed', 'failed', 'expired', 'cancelled')",
            name="state_known",
        ),
        CheckConstraint("num_nonnulls(dataset_id, suite_id) = 1", name="one_subject"),
        CheckConstraint(
            "(ended_at IS NULL) = (state IN ('in_progress', 'scoring'))", name="ended_when_closed"
        ),
        CheckConstraint(
            "(completed_at IS NOT NULL) = (state = 'completed')", name="completed_when_completed"
        ),
        same_account("dataset_id", "datasets"),
        same_account("suite_id", "suites"),
        same_account("settings_id", "evaluation_settings"),
        same_account("regrade_of", "evaluations"),
        Index("ix_evaluations_dataset", "account_id", "dataset_id", "id"),
        Index("ix_evaluations_suite", "account_id", "suite_id", "id"),
        # The line of comparable evaluations, newest first: where a baseline is looked for.
        Index(
            "ix_evaluations_line",
            "account_id",
            "grading_hash",
            "completed_at",
            "id",
            postgresql_where=text("state = 'completed'"),
        ),
        Index(
            "ix_evaluations_open",
            "expires_at",
            postgresql_where=text("state IN ('in_progress', 'scoring')"),
        ),
    )

    dataset_id: Mapped[UUID | None]
    suite_id: Mapped[UUID | None]
    name: Mapped[str]
    """Of the dataset or suite, as it was then."""
    version: Mapped[int] = mapped_column(Integer)
    """Of the dataset or suite."""
    state: Mapped[str] = mapped_column(default="in_progress", server_default="in_progress")
    split: Mapped[str | None]
    repetitions: Mapped[int] = mapped_column(Integer, default=1, server_default="1")
    case_count: Mapped[int] = mapped_column(Integer)
    expected_count: Mapped[int | None] = mapped_column(Integer)
    """Results that are expected; NULL where every case is repeated alike."""
    run_source: Mapped[str | None]
    commit: Mapped[str | None]
    branch: Mapped[str | None]
    pull_request: Mapped[str | None]
    settings_id: Mapped[UUID | None]
    grading: Mapped[dict[str, Any]]
    """The grader as it is used, by content; what `grading_hash` is made of."""
    grading_hash: Mapped[str]
    pass_rating: Mapped[Decimal | None]
    """The pass mark, where one rating decides for all cases."""
    options: Mapped[dict[str, Any]] = mapped_column(default=dict, server_default="{}")
    """What else the producer was asked for or told: target, concurrency, budget, fields without a use."""
    baseline_id: Mapped[UUID | None]
    """The `latest` baseline, fixed on completion. No foreign key: an answer once given stays."""
    regrade_of: Mapped[UUID | None]
    rated_count: Mapped[int | None] = mapped_column(Integer)
    """Results with a judge's rating; known on completion."""
    cost: Mapped[Decimal] = mapped_column(default=ZERO_USD, server_default="0")
    """US dollars; the sum of what its results cost."""
    statistics: Mapped[dict[str, Any] | None]
    """As they are told, kept on completion for lists. Verdicts are computed from results, never from here."""
    error: Mapped[dict[str, Any] | None]
    """`{code, message}` of one that did not complete."""
    expires_at: Mapped[datetime | None]
    completed_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]

    @property
    def expected(self) -> int:
        """How many results there should be."""
        return self.case_count * self.repetitions if self.expected_count is None else self.expected_count


class EvaluationCase(Owned, Table):
    """One case of an evaluation, frozen when it began."""

    __tablename__ = "evaluation_cases"
    __table_args__ = (
        same_account("evaluation_id", "evaluations", ondelete="CASCADE"),
        UniqueConstraint("account_id", "evaluation_id", "case_id"),
    )

    evaluation_id: Mapped[UUID]
    case_id: Mapped[str]
    """Stable over versions of the dataset or suite."""
    index: Mapped[int] = mapped_column(Integer)
    """For display; the same in a split."""
    kind: Mapped[str]
    """custom, simulated or scripted."""
    name: Mapped[str]
    content: Mapped[dict[str, Any]]
    content_hash: Mapped[str]
    grader_hash: Mapped[str | None]
    """What is particular to this case in how it is graded; NULL where the evaluation tells it all."""
    target_hash: Mapped[str | None]
    """What was spoken to; NULL where we do not know it."""
    repetitions: Mapped[int | None] = mapped_column(Integer)
    """Of this case; NULL for as many as the evaluation's."""
