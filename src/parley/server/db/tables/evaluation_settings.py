"""Evaluation settings: reusable graders of custom evaluations."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Mapped

from parley.server.db.base import Dated, Owned, Table


class EvaluationSettings(Owned, Dated, Table):
    """One grader: criteria, judge, votes, checks, pass mark. Never changed, so that runs stay comparable."""

    __tablename__ = "evaluation_settings"

    name: Mapped[str]
    content: Mapped[dict[str, Any]]
    """As `custom_evaluations` writes them."""
    content_hash: Mapped[str]
