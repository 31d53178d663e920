"""Gate records: verdicts that somebody asked to be kept, and the pinned baselines."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, Index, UniqueConstraint, func
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Owned, Table, same_account


class GateRecord(Owned, Table):
    """One answer of the gate. Once per evaluation, verdict and caller; never changed."""

    __tablename__ = "gate_records"
    __table_args__ = (
        CheckConstraint("verdict IN ('passed', 'failed', 'inconclusive')", name="verdict_known"),
        same_account("evaluation_id", "evaluations", ondelete="CASCADE"),
        UniqueConstraint("account_id", "evaluation_id", "verdict", "caller"),
        Index("ix_gate_records_dataset", "account_id", "dataset_id", "id"),
        Index("ix_gate_records_suite", "account_id", "suite_id", "id"),
    )

    evaluation_id: Mapped[UUID]
    dataset_id: Mapped[UUID | None]
    suite_id: Mapped[UUID | None]
    name: Mapped[str]
    branch: Mapped[str | None]
    commit: Mapped[str | None]
    caller: Mapped[str]
    """Empty where nobody was named."""
    verdict: Mapped[str]
    parameters: Mapped[dict[str, Any]]
    """As they were sent."""
    answer: Mapped[dict[str, Any]]
    """As it was given, in snake_case."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class EvaluationPin(Owned, Table):
    """The pinned baseline of one line of evaluations: dataset or suite, grading identity and split."""

    __tablename__ = "evaluation_pins"
    __table_args__ = (
        CheckConstraint("num_nonnulls(dataset_id, suite_id) = 1", name="one_subject"),
        same_account("evaluation_id", "evaluations", ondelete="CASCADE"),
        UniqueConstraint(
            "account_id",
            "dataset_id",
            "suite_id",
            "grading_hash",
            "split",
            name="uq_evaluation_pins_line",
            postgresql_nulls_not_distinct=True,
        ),
    )

    dataset_id: Mapped[UUID | None]
    suite_id: Mapped[UUID | None]
    grading_hash: Mapped[str]
    split: Mapped[str | None]
    evaluation_id: Mapped[UUID]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
