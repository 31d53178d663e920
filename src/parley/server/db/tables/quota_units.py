"""Units of quota: the starts an account has spent."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped

from parley.server.db.base import Owned, Table


class QuotaUnit(Owned, Table):
    """One start, whatever it started. Counts for one window; older rows are removed by later starts."""

    __tablename__ = "quota_units"
    __table_args__ = (Index("ix_quota_units_window", "account_id", "spent_at"),)

    spent_at: Mapped[datetime]
    """The database's clock, read under the account's lock: later than every unit before it."""
