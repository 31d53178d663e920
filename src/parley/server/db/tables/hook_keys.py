"""Hook keys: what an account's hooks are signed with."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, LargeBinary, func
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Table


class HookKey(Table):
    """The one key of an account that has rolled one."""

    __tablename__ = "hook_keys"

    account_id: Mapped[UUID] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True)
    sealed_key: Mapped[bytes] = mapped_column(LargeBinary)
    rolled_at: Mapped[datetime] = mapped_column(server_default=func.now())
