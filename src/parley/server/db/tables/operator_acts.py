"""What operators did."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, Index, func
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Table
from parley.server.kit.ids import new_id


class OperatorAct(Table):
    """One act, written in the transaction that did it.

    It belongs to no account, and outlives the one it concerned: there is no foreign key on purpose.
    """

    __tablename__ = "operator_acts"
    __table_args__ = (
        CheckConstraint("via IN ('api', 'command')", name="via_known"),
        Index("ix_operator_acts_account", "account_id", "id"),
    )

    id: Mapped[UUID] = mapped_column(primary_key=True, default=new_id)
    act: Mapped[str]
    """`<what>.<verb>`, such as account.suspend."""
    via: Mapped[str]
    account_id: Mapped[UUID | None]
    details: Mapped[dict[str, Any]]
    """What was asked for, without secrets."""
    at: Mapped[datetime] = mapped_column(server_default=func.now())
