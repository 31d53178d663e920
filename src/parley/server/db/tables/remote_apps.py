"""Remote apps: customers' own apps, which play attempts at scripted cases themselves."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import LargeBinary, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Dated, Owned, Table, same_account


class RemoteApp(Owned, Dated, Table):
    """One app. The key that we show it is sealed."""

    __tablename__ = "remote_apps"
    __table_args__ = (UniqueConstraint("account_id", "slug"),)

    name: Mapped[str]
    slug: Mapped[str]
    """`name:last4`; stays as it was made when the name changes, so that suites' references hold."""
    url: Mapped[str]
    """Where its route is mounted."""
    sealed_service_key: Mapped[bytes] = mapped_column(LargeBinary)
    offer: Mapped[dict[str, Any] | None]
    """What it offered when it was last checked: suites by id and revision, handlers, judge."""
    checked_at: Mapped[datetime | None]


class RemoteAdmission(Owned, Table):
    """An attempt that an app may have been asked to play: written before it is asked.

    `instance` is the memory that the app had then. An app with another one has forgotten the attempt, and
    is not asked a second time.
    """

    __tablename__ = "remote_admissions"
    __table_args__ = (
        same_account("attempt_id", "attempts", ondelete="CASCADE"),
        UniqueConstraint("account_id", "attempt_id"),
    )

    attempt_id: Mapped[UUID]
    instance: Mapped[str]
    admitted_at: Mapped[datetime | None]
