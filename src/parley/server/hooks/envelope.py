"""What a hook is sent. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from parley.engine.spec import HookEvent
from parley.server.hooks.keys import Credentials
from parley.server.kit import strictjson
from parley.server.kit.clock import rfc3339
from parley.server.kit.signing import message_headers


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSource:
    """The run that calls, as envelopes name it. An integrated llm has no gateway id."""

    test_id: UUID
    run_id: UUID
    gateway_id: str | None


def envelope(source: HookSource, event: HookEvent, data: Mapping[str, Any], at_ms: int) -> bytes:
    """The body of a call. Decimals become JSON numbers; `moment` is when the call is made."""
    moment = datetime.fromtimestamp(at_ms / 1000, UTC)
    body = {
        "testId": str(source.test_id),
        "runId": str(source.run_id),
        "gatewayId": source.gateway_id,
        "moment": rfc3339(moment),
        "event": {"name": event, "data": {name: _plain(value) for name, value in data.items()}},
    }
    return strictjson.write(body).encode()


def message_id(run_id: UUID, event: HookEvent, turn: int, index: int) -> str:
    """The `webhook-id`: the same when another worker makes the same call again, and no other call's."""
    return f"msg_{run_id.hex}_{event}_{turn}_{index}"


def headers_of(
    webhook_id: str, timestamp_s: int, body: bytes, credentials: Credentials | None
) -> dict[str, str]:
    """The headers of a call. Without a key it is neither signed, nor does it carry a nonce."""
    key = None if credentials is None else credentials.key
    headers = {"Content-Type": "application/json", "User-Agent": "Parley-Hooks/1"}
    headers |= message_headers(key, webhook_id, timestamp_s, body)
    if credentials is not None:
        headers["X-Request-Nonce"] = credentials.nonce
    return headers


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value
