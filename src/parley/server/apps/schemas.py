"""Wire shapes of remote apps."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias
from uuid import UUID

from pydantic import ConfigDict, Field, StringConstraints

from parley.engine.script.protocol import MAX_KEY_CHARS, MIN_KEY_CHARS
from parley.server.kit.schemas import Answer, Body, Instant, NameIn

Url: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=2_048)]
ServiceKey: TypeAlias = Annotated[
    str,
    StringConstraints(min_length=MIN_KEY_CHARS, max_length=MAX_KEY_CHARS, pattern=r"^[\x21-\x7e]+$"),
]


def _no_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


_NAME: dict[str, Any] = {"examples": ["Shop backend"]}
_URL: dict[str, Any] = {
    "description": "Where `evals.asgi(...)` is mounted in the app.",
    "examples": ["https://shop.example.com/internal/evals"],
}
_KEY: dict[str, Any] = {
    "description": "Write-only. The app's `service_key`, sent as a bearer token.",
    "examples": ["the-service-key-of-at-least-32-characters"],
}


class AppCreate(Body):
    """A remote app to be registered."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "Shop backend",
                    "url": "https://shop.example.com/internal/evals",
                    "service_key": "the-service-key-of-at-least-32-characters",
                }
            ]
        }
    )

    name: NameIn = Field(**_NAME)
    url: Url = Field(**_URL)
    service_key: ServiceKey = Field(**_KEY)


class AppChange(Body):
    """What to change of an app: only what is sent."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Shop"}]})

    name: NameIn = Field(default="", json_schema_extra=_no_default, **_NAME)
    url: Url = Field(default="", json_schema_extra=_no_default, **_URL)
    service_key: ServiceKey = Field(default="", json_schema_extra=_no_default, **_KEY)


class AppAnswer(Answer):
    """A remote app, without its key."""

    id: UUID
    name: str
    slug: str = Field(description="`name:last4`; kept when the name changes.", examples=["shop-backend:9f3a"])
    url: str
    offer: dict[str, Any] | None = Field(
        description="What it offered when it was last checked: `{protocolVersion, client, capacity, suites: "
        "[{id, name, revision, cases}], handlers, judge, commit, appVersion}`; null before."
    )
    checked_at: Instant | None
    created_at: Instant
    updated_at: Instant


class AppCheck(Answer):
    """What a check found."""

    ok: bool
    code: str | None = Field(description="What went wrong, for programs.")
    fault: str | None = Field(description="What went wrong, in a sentence.")
    latency_ms: int
    offer: dict[str, Any] | None = Field(description="As in the app.")
    suites: list[dict[str, Any]] = Field(
        description="The whole suites with the evidence policy that holds in the app: as the `suite` of a "
        "scripted suite here they have the app's revision."
    )
