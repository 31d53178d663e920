"""Grades: single verdicts that an app asked the service for, each paid once."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, Index
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Dated, Owned, Table
from parley.server.kit.money import ZERO_USD


class Grade(Owned, Dated, Table):
    """One request to the judge. `running` is held until `lease_until` on the database's clock; `failed` may
    be asked again under its key; `answered` never changes, and is forgotten with its idempotency key."""

    __tablename__ = "grades"
    __table_args__ = (
        CheckConstraint("state IN ('running', 'answered', 'failed')", name="state_known"),
        CheckConstraint("(lease_token IS NOT NULL) = (state = 'running')", name="leased_when_running"),
        CheckConstraint("(answer IS NOT NULL) = (state = 'answered')", name="answer_when_answered"),
        Index("ix_grades_key", "account_id", "key_id", "asked_at"),
        Index("ix_grades_age", "created_at"),
    )

    key_id: Mapped[UUID]
    """Whose quota it took. No foreign key: keys go."""
    judge: Mapped[str]
    """Its id; the version stands in whatever it graded."""
    state: Mapped[str] = mapped_column(default="running", server_default="running")
    answer: Mapped[dict[str, Any] | None]
    """As it was answered, so that a repeat gets the same."""
    cost: Mapped[Decimal] = mapped_column(default=ZERO_USD, server_default="0")
    """US dollars that its inferences cost together."""
    lease_token: Mapped[UUID | None]
    lease_until: Mapped[datetime | None]
    asked_at: Mapped[datetime]
