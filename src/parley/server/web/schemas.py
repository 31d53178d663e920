"""Wire shapes of sessions."""

from __future__ import annotations

from uuid import UUID

from pydantic import ConfigDict, Field

from parley.server.accounts.scopes import KeyScope
from parley.server.kit.schemas import Answer, Body, IdIn, Instant


class SignIn(Body):
    """What opens a session: one of the two."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"key": "sk-par-..."}]})

    key: str | None = Field(default=None, max_length=200, description="A private key.")
    link: str | None = Field(default=None, max_length=200, description="The token of a sign-in link.")


class SessionChange(Body):
    """Whose session speaks from now on."""

    id: IdIn = Field(description="Of a session of this browser.")


class SessionAnswer(Answer):
    """A session of the asking browser."""

    id: UUID
    account_id: UUID
    account_name: str
    plan: str = Field(examples=["free"])
    status: str = Field(description="active or suspended.", examples=["active"])
    key_name: str
    key_shown: str = Field(description="Beginning and end of its key.", examples=["sk-par-4Yh2...x9Qa"])
    scopes: list[KeyScope] = Field(description="What its key may do, and so the session.")
    expires_at: Instant
    is_current: bool = Field(description="Whether the browser's requests are this account's.")


class SignInLinkAnswer(Answer):
    """A link that opens one session."""

    url: str = Field(description="Opens a session once; it is shown this once.")
    expires_at: Instant
