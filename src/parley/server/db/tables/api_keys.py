"""API keys. Only a SHA-256 of the random token is kept."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint, LargeBinary, Text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from parley.server.db.base import Dated, Owned, Table


class ApiKey(Owned, Dated, Table):
    """One key of an account."""

    __tablename__ = "api_keys"
    __table_args__ = (
        CheckConstraint("kind IN ('private', 'public')", name="kind_known"),
        CheckConstraint("octet_length(sha256) = 32", name="sha256_length"),
    )

    name: Mapped[str]
    kind: Mapped[str]
    sha256: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    shown: Mapped[str]
    """The beginning and the end of the key, enough to recognise it by."""
    scopes: Mapped[list[str]] = mapped_column(ARRAY(Text))
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    """Right to about a minute."""
