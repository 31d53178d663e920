"""Sessions of browsers, and the links that open one."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, Index, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Dated, Owned, Table, same_account


class BrowserSession(Owned, Dated, Table):
    """One key opened in one browser. It may what its key may, as long as the key is valid."""

    __tablename__ = "browser_sessions"
    __table_args__ = (
        same_account("key_id", "api_keys", ondelete="CASCADE"),
        CheckConstraint("octet_length(sha256) = 32", name="sha256_length"),
        Index("ix_browser_sessions_key", "account_id", "key_id"),
    )

    key_id: Mapped[UUID]
    sha256: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    """Of the random token that the browser keeps in its cookie."""
    expires_at: Mapped[datetime]


class SignInLink(Owned, Dated, Table):
    """A link that opens a session of a key, once. Its use deletes it."""

    __tablename__ = "sign_in_links"
    __table_args__ = (
        same_account("key_id", "api_keys", ondelete="CASCADE"),
        CheckConstraint("octet_length(sha256) = 32", name="sha256_length"),
        Index("ix_sign_in_links_key", "account_id", "key_id"),
    )

    key_id: Mapped[UUID]
    sha256: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    """Of the random token in the link."""
    expires_at: Mapped[datetime]
