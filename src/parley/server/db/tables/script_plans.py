"""Script plans: what the scripted cases of an evaluation are played by, frozen when it began."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import LargeBinary, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Owned, Table, same_account


class ScriptPlan(Owned, Table):
    """One evaluation's suite, target and judge."""

    __tablename__ = "script_plans"
    __table_args__ = (
        same_account("evaluation_id", "evaluations", ondelete="CASCADE"),
        UniqueConstraint("account_id", "evaluation_id"),
        UniqueConstraint("account_id", "run_id"),
    )

    evaluation_id: Mapped[UUID]
    suite: Mapped[dict[str, Any]]
    """The whole suite on the wire, cases that were not chosen included: what `revision` was made of."""
    revision: Mapped[str]
    evidence: Mapped[dict[str, Any]]
    """The effective policy."""
    target: Mapped[dict[str, Any]]
    """The target with what was known of it then; nothing secret."""
    judge: Mapped[dict[str, Any] | None]
    """Who judges: identity, and how ours finds its llm again. NULL where there is nothing to judge."""
    run_id: Mapped[str | None]
    """Of a run that was played elsewhere and sent in; NULL for what we play."""
    run_sha256: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Of that run, so that another one under its id is told apart."""
