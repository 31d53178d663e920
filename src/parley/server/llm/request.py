"""An attempt as a chat-completions request: address, headers and body. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import orjson

from parley.engine.messages import Message
from parley.engine.ports import AttemptOptions
from parley.server.llm.endpoint import Forwarded, LlmEndpoint, LlmSettings

COMPLETIONS_PATH: Final = "/chat/completions"
RESERVED_FIELDS: Final = ("model", "messages", "stream")
"""Never taken from `extra_body` (product contract)."""
ROOM_FIELDS: Final = ("max_completion_tokens", "max_tokens")
MORE_ROOM_FACTOR: Final = 4
MORE_ROOM_TOKENS: Final = 4_096
"""A budget that reasoning ate up is made four times as large, and at least this large.

Without a budget of ours the provider's own holds, and there is nothing to widen.
"""
METADATA_HEADER: Final = "X-Parley-Metadata"


def completions_url(base_url: str) -> str:
    """The address of chat completions under `base_url`; its query (an API version, say) is kept.

    Many people give the whole address for the base: it is taken as it was meant.
    """
    parts = urlsplit(base_url)
    base_path = parts.path.rstrip("/").removesuffix(COMPLETIONS_PATH)
    return urlunsplit(parts._replace(path=base_path + COMPLETIONS_PATH, fragment=""))


def request_headers(endpoint: LlmEndpoint, forwarded: Forwarded) -> dict[str, str]:
    """The headers of every attempt at `endpoint`; the endpoint's own stand above ours."""
    headers = {
        "Content-Type": "application/json",
        "Accept": "text/event-stream",
        # A compressed stream would have to be unpacked without knowing how large it becomes.
        "Accept-Encoding": "identity",
        "User-Agent": "parley",
    }
    if endpoint.api_key:
        headers["Authorization"] = f"Bearer {endpoint.api_key}"
    if forwarded.metadata and forwarded.forward_metadata == "headers":
        headers[METADATA_HEADER] = json.dumps(dict(forwarded.metadata), separators=(",", ":"))
    names = {name.lower(): name for name in headers}
    for name, value in endpoint.headers.items():
        headers[names.get(name.lower(), name)] = value
    return headers


def fixed_fields(endpoint: LlmEndpoint, forwarded: Forwarded) -> dict[str, Any]:
    """The fields of the body that are the same in every attempt at `endpoint`."""
    fields: dict[str, Any] = {
        "model": endpoint.model,
        "stream": True,
        "stream_options": {"include_usage": True},
        **_settings_fields(endpoint.settings),
    }
    if forwarded.external_user_id:
        fields["user"] = forwarded.external_user_id
    if forwarded.metadata and forwarded.forward_metadata == "body":
        fields["metadata"] = dict(forwarded.metadata)
    extra = endpoint.settings.extra_body
    fields.update((name, value) for name, value in extra.items() if name not in RESERVED_FIELDS)
    return fields


def request_body(
    fixed: Mapping[str, Any],
    system_instruction: str | None,
    messages: Sequence[Message],
    options: AttemptOptions,
) -> bytes:
    """The body of one attempt as JSON."""
    lines = [message.wire() for message in messages]
    if system_instruction:
        lines.insert(0, {"role": "system", "content": system_instruction})
    body = {**fixed, "messages": lines}
    if options.response_schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": options.response_name, "strict": True, "schema": options.response_schema},
        }
    if options.more_room:
        _widen(body)
    return _encoded(body)


def _settings_fields(settings: LlmSettings) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_completion_tokens": settings.max_completion_tokens,
        "stop": settings.stop or None,
        "seed": settings.seed,
        "reasoning_effort": settings.reasoning_effort,
        "tools": [dict(tool) for tool in settings.tools] or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _widen(body: dict[str, Any]) -> None:
    for name in ROOM_FIELDS:
        budget = body.get(name)
        if isinstance(budget, int) and not isinstance(budget, bool):
            body[name] = max(budget * MORE_ROOM_FACTOR, MORE_ROOM_TOKENS)


def _encoded(body: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:
        # orjson refuses integers beyond 64 bits and lone surrogates; both may stand in `extra_body`.
        return json.dumps(body, separators=(",", ":")).encode("ascii")
