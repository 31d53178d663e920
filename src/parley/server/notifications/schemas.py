"""Wire shapes of channels and deliveries."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

from pydantic import ConfigDict, Field, StringConstraints

from parley.server.kit.schemas import Answer, Body, Instant, NameIn

Url: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=2_048)]
Format: TypeAlias = Literal["json", "slack"]

_URL = "Write-only: whoever knows a chat's webhook can write there."
_FORMAT = "json: signed, for programs. slack: plain text, for Slack and what copies its incoming webhooks."
_ENABLED = "Whether it gets news."


def _no_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


class ChannelCreate(Body):
    """A channel to be made."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"name": "On call", "url": "https://hooks.slack.com/services/T0/B0/x", "format": "slack"}
            ]
        }
    )

    name: NameIn = Field(examples=["On call"])
    url: Url = Field(description=_URL, examples=["https://example.com/alerts"])
    format: Format = Field(default="json", description=_FORMAT)
    enabled: bool = Field(default=True, description=_ENABLED)


class ChannelChange(Body):
    """What to change of a channel: only what is sent."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"enabled": False}]})

    name: NameIn = Field(default="", json_schema_extra=_no_default)
    url: Url = Field(default="", description=_URL, json_schema_extra=_no_default)
    format: Format = Field(default="json", description=_FORMAT, json_schema_extra=_no_default)
    enabled: bool = Field(default=True, description=_ENABLED, json_schema_extra=_no_default)
    roll_secret: bool = Field(
        default=False, description="Make a new secret in place of the one before; json only."
    )


class ChannelAnswer(Answer):
    """A channel, without its address and secret."""

    id: UUID
    name: str
    format: Format
    shown_url: str = Field(
        description="Scheme and host of the address.", examples=["https://hooks.slack.com/..."]
    )
    enabled: bool
    created_at: Instant
    updated_at: Instant


class SavedChannelAnswer(ChannelAnswer):
    """A channel just saved."""

    secret: str | None = Field(
        description="What its messages are signed with, if it was just made; it is shown this once.",
        examples=["whsec_..."],
    )


class DeliveryAnswer(Answer):
    """One notification on its way to one reader."""

    id: UUID
    notification_id: UUID = Field(description="In `webhook-id`: the same for all channels and tries.")
    kind: str = Field(examples=["test.failing"])
    test_id: UUID | None
    run_id: UUID | None
    email: str | None = Field(description="Where it goes, if not to a channel.")
    state: Literal["pending", "delivered", "failed"]
    attempts: int = Field(description="Tries so far, one under way included.")
    status: int | None = Field(description="What the last try was answered: HTTP, or SMTP for e-mail.")
    error: str | None = Field(description="Why the last try failed.")
    created_at: Instant
    next_attempt_at: Instant | None = Field(description="Null once it has ended.")
    finished_at: Instant | None
