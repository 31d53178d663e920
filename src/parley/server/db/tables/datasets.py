"""Datasets: cases for agents that run in a customer's own pipeline."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Index, Integer, UniqueConstraint, func, text
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Dated, Owned, Table, same_account


class Dataset(Owned, Dated, Table):
    """One dataset. A deleted one keeps its row: evaluations of it stay."""

    __tablename__ = "datasets"
    __table_args__ = (
        Index("ix_datasets_live", "account_id", "id", postgresql_where=text("deleted_at IS NULL")),
    )

    name: Mapped[str]
    version: Mapped[int] = mapped_column(Integer, default=1, server_default="1")
    """The newest version."""
    case_count: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    deleted_at: Mapped[datetime | None]


class DatasetVersion(Owned, Table):
    """What a dataset held from one change to the next. Never changed; evaluations pin one."""

    __tablename__ = "dataset_versions"
    __table_args__ = (
        same_account("dataset_id", "datasets", ondelete="CASCADE"),
        UniqueConstraint("account_id", "dataset_id", "version"),
    )

    dataset_id: Mapped[UUID]
    version: Mapped[int] = mapped_column(Integer)
    content: Mapped[dict[str, Any]]
    """Description, criteria and cases, as `custom_evaluations` writes them."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
