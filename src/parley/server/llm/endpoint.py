"""Where an llm lives and how it is to be asked: frozen values, handed in by those who know them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

ForwardMetadata: TypeAlias = Literal["body", "headers", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmSettings:
    """What is sent with every request; None and empty are left out, so that the provider decides.

    `tools` are OpenAI tool definitions. `extra_body` is laid over all other fields, except `model`,
    `messages` and `stream`.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_completion_tokens: int | None = None
    stop: str | tuple[str, ...] | None = None
    seed: int | None = None
    reasoning_effort: str | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    extra_body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmEndpoint:
    """One llm at one OpenAI-compatible address.

    `base_url` is the part before `/chat/completions`; a query in it is kept. `api_key` and the values of
    `headers` are secrets: they are masked in every error text. `system_instruction` goes before
    all messages.
    """

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    system_instruction: str | None = None
    settings: LlmSettings = field(default_factory=LlmSettings)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be shown to anybody."""
        key = (self.api_key,) if self.api_key else ()
        return (*key, *(value for value in self.headers.values() if value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Forwarded:
    """What of a test travels to the system under test beside the conversation.

    `external_user_id` becomes `user`. `metadata` goes into the body as `metadata`, or into one
    header `X-Parley-Metadata` as ASCII JSON; empty metadata is never sent.
    """

    external_user_id: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    forward_metadata: ForwardMetadata = "body"


NOTHING_FORWARDED = Forwarded()
