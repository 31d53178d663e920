"""Wire shapes of accounts and keys."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import ConfigDict, Field, StringConstraints

from parley.server.accounts.scopes import KeyKind, KeyScope
from parley.server.kit.schemas import Answer, Body, Instant, InstantIn, NameIn


class KeyCreate(Body):
    """A key to be made."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "pipeline", "scopes": ["tests:read", "runs:write"]}]}
    )

    name: NameIn = Field(description="What the key is for.", examples=["pipeline"])
    kind: KeyKind = Field(default="private", description="A public key may only ask who it is.")
    scopes: list[KeyScope] | None = Field(
        default=None,
        max_length=50,
        description="What a private key may do; null: what the key that makes it may do.",
        examples=[["tests:read", "runs:write"]],
    )
    expires_at: InstantIn | None = Field(default=None, description="When it stops working; null: never.")


class KeyAnswer(Answer):
    """A key, without what only its holder knows."""

    id: UUID
    name: str
    kind: KeyKind
    shown: str = Field(description="Beginning and end of the key.", examples=["sk-par-4Yh2...x9Qa"])
    scopes: list[KeyScope]
    created_at: Instant
    expires_at: Instant | None
    revoked_at: Instant | None
    last_used_at: Instant | None = Field(description="Right to about a minute.")


class NewKeyAnswer(KeyAnswer):
    """A key just made."""

    key: str = Field(description="The key itself; it is shown this once.", examples=["sk-par-..."])


Email = Annotated[
    str,
    StringConstraints(
        max_length=254,
        pattern=r"^[^@\s<>(),:;\\\"\[\]\x00-\x1f\x7f]{1,64}@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$",
    ),
]
"""One plain address, without a display name; the longest that mail takes is 254 characters (RFC 5321)."""


class AccountUpdate(Body):
    """The account's own particulars; all are replaced."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "Example Ltd", "owner_email": "ada@example.com"}]}
    )

    name: NameIn = Field(examples=["Example Ltd"])
    owner_email: Email | None = Field(
        default=None, description="The owner's e-mail; alerts go there.", examples=["ada@example.com"]
    )
    alerts_contact: Email | None = Field(
        default=None, description="An e-mail address that gets alerts too.", examples=["on-call@example.com"]
    )


class AccountAnswer(Answer):
    """An account."""

    id: UUID
    name: str
    owner_email: str | None
    alerts_contact: str | None
    plan: str = Field(examples=["free"])
    status: str = Field(description="active or suspended.", examples=["active"])
    created_at: Instant


class WhoAmI(Answer):
    """Who is calling."""

    account_id: UUID
    account_name: str
    plan: str
    status: str = Field(description="active or suspended.", examples=["active"])
    key_id: UUID
    kind: KeyKind
    scopes: list[KeyScope]
    expires_at: Instant | None
