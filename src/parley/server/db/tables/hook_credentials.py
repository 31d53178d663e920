"""Hook credentials: what a run shows to its hooks, from the first worker to the last."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Table, same_account


class HookCredentials(Table):
    """The key and the nonce of one run, decided when it begins."""

    __tablename__ = "hook_credentials"
    __table_args__ = (same_account("run_id", "runs", ondelete="CASCADE"),)

    account_id: Mapped[UUID] = mapped_column(primary_key=True)
    run_id: Mapped[UUID] = mapped_column(primary_key=True)
    sealed: Mapped[bytes | None] = mapped_column(LargeBinary)
    """A JSON list of key and nonce, sealed as one; NULL if the account had no key."""
