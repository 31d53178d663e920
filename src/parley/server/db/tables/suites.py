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
    )

    name: Mapped[str]
    version: Mapped[int] = mapped_column(Integer, default=1, server_default="1")
    content: Mapped[dict[str, Any]]
    """Description and cases, as `suites` writes them."""
    deleted_at: Mapped[datetime | None]
