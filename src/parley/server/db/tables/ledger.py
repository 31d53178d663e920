"""The ledger: signed entries whose sum is the account's balance."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, Integer, func, text
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Table


class LedgerEntry(Table):
    """One movement of money. Charges are negative; the key makes each at most once.

    There is no foreign key to runs on purpose: the ledger outlives them.
    """

    __tablename__ = "ledger"
    __table_args__ = (
        CheckConstraint(
            "source IN ('run', 'direct', 'evaluation', 'grade', 'credit', 'adjustment')", name="source_known"
        ),
        Index("ix_ledger_day", "account_id", "created_at"),
        Index(
            "ix_ledger_integrated",
            "account_id",
            "created_at",
            postgresql_include=["prompt_tokens", "completion_tokens"],
            postgresql_where=text("role = 'assistant' AND llm LIKE '@%'"),
        ),
    )

    account_id: Mapped[UUID] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True)
    source: Mapped[str] = mapped_column(primary_key=True)
    source_id: Mapped[UUID] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(Integer, primary_key=True)
    """The entry of the run or direct evaluation that was charged; 0 for credits and adjustments."""
    amount: Mapped[Decimal]
    """US dollars, 9 places."""
    role: Mapped[str | None]
    llm: Mapped[str | None]
    """As its provider names it; an integrated llm by its slug, `@vendor/name`."""
    test_id: Mapped[UUID | None]
    prompt_tokens: Mapped[int] = mapped_column(default=0, server_default="0")
    cached_prompt_tokens: Mapped[int] = mapped_column(default=0, server_default="0")
    completion_tokens: Mapped[int] = mapped_column(default=0, server_default="0")
    estimated: Mapped[bool] = mapped_column(default=False, server_default=text("false"))
    note: Mapped[str | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
