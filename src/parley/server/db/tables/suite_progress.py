"""Evaluations of suites that are being carried out."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import Index, UniqueConstraint
from sqlalchemy.orm import Mapped

from parley.server.db.base import Owned, Table, same_account


class SuiteProgress(Owned, Table):
    """One evaluation that workers carry out; gone once it has ended and none of its runs is open.

    Whoever holds the row takes the evaluation's next step. What is done and what is owed stands in the
    evaluation's results alone.
    """

    __tablename__ = "suite_progress"
    __table_args__ = (
        same_account("evaluation_id", "evaluations", ondelete="CASCADE"),
        UniqueConstraint("account_id", "evaluation_id"),
        Index("ix_suite_progress_due", "looked_at_from"),
    )

    evaluation_id: Mapped[UUID]
    looked_at_from: Mapped[datetime]
    """When workers look at it next, on the database's clock."""
