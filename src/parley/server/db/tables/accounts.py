"""Accounts: whom everything belongs to."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Integer
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Dated, Table
from parley.server.kit.ids import new_id
from parley.server.kit.money import ZERO_USD


class Account(Dated, Table):
    """One tenant."""

    __tablename__ = "accounts"
    __table_args__ = (
        CheckConstraint("status IN ('active', 'suspended')", name="status_known"),
        CheckConstraint("own_runs_per_minute > 0", name="own_runs_per_minute_positive"),
        CheckConstraint("own_concurrent_runs > 0", name="own_concurrent_runs_positive"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=new_id)
    name: Mapped[str]
    plan: Mapped[str] = mapped_column(ForeignKey("plans.code"), default="free")
    status: Mapped[str] = mapped_column(default="active", server_default="active")
    balance: Mapped[Decimal] = mapped_column(default=ZERO_USD, server_default="0")
    """US dollars; the sum of the account's ledger, changed in the same transaction."""
    own_runs_per_minute: Mapped[int | None] = mapped_column(Integer)
    """In place of its plan's; NULL: as the plan says. Set by operators."""
    own_concurrent_runs: Mapped[int | None] = mapped_column(Integer)
    """In place of its plan's; NULL: as the plan says. Set by operators."""
    owner_email: Mapped[str | None]
    alerts_contact: Mapped[str | None]
    """Where alerts go as well as to the owner: an e-mail address."""
