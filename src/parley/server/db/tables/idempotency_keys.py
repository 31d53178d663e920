"""Idempotency keys: which resource a request with a key has made."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index, LargeBinary, func
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Table


class IdempotencyKey(Table):
    """One key, scoped by account and route, kept for 24 hours."""

    __tablename__ = "idempotency_keys"
    __table_args__ = (Index(None, "created_at"),)

    account_id: Mapped[UUID] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True)
    route: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    body_sha256: Mapped[bytes] = mapped_column(LargeBinary)
    resource_id: Mapped[UUID]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
