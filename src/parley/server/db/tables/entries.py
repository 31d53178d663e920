"""Entries: the kept lines of runs."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKeyConstraint, Integer, func
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Table
from parley.server.kit.money import ZERO_USD


class RunEntry(Table):
    """One entry of one run; `seq` counts from 1 without gaps."""

    __tablename__ = "entries"
    __table_args__ = (
        ForeignKeyConstraint(
            ["account_id", "run_id"],
            ["runs.account_id", "runs.id"],
            ondelete="CASCADE",
            name="fk_entries_run_id",
        ),
    )

    account_id: Mapped[UUID] = mapped_column(primary_key=True)
    run_id: Mapped[UUID] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(Integer, primary_key=True)
    kind: Mapped[str]
    turn: Mapped[int] = mapped_column(Integer)
    body: Mapped[dict[str, Any]]
    cost: Mapped[Decimal] = mapped_column(default=ZERO_USD, server_default="0")
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
