"""Calls of the customer's addresses during an attempt: once, guarded, bounded, signed like hooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

from aiohttp import ClientSession

from parley.engine.ports import Clock
from parley.engine.script.plain import NotPlain, plain
from parley.engine.script.ports import Context
from parley.server.hooks.caller import HookLimits
from parley.server.hooks.envelope import headers_of
from parley.server.hooks.keys import Credentials
from parley.server.hooks.vault import HookVault
from parley.server.kit import strictjson
from parley.server.kit.clock import rfc3339
from parley.server.outbound.errors import OutboundFault
from parley.server.outbound.fetch import Answer, call_address
from parley.server.outbound.text import shown_text

VERIFY_S: Final = 60.0
"""For a verification, as long as the engine waits for one."""
_MOST_SHOWN: Final = 200

WebhookEvent: TypeAlias = Literal["tool-call", "verify"]


class WebhookFailed(Exception):
    """An address gave no answer that can be used. `message` is fit for the account's eyes."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhooks:
    """Calls addresses, through a guarded session that keeps no connection alive."""

    session: ClientSession
    vault: HookVault
    clock: Clock
    limits: HookLimits

    async def call(
        self, held_by: HookOwner, url: str, event: WebhookEvent, number: int, data: Mapping[str, Any]
    ) -> Any:
        """What the address answers to an event: JSON, or its text. Raises `WebhookFailed`."""
        at_ms = self.clock.now_ms()
        body = strictjson.write(held_by.envelope(event, data, at_ms)).encode()
        key = await self.vault.key_of(held_by.account_id)
        webhook_id = f"msg_{held_by.context.attempt_id.replace('-', '')}_{event}_{number}"
        credentials = None if key is None else Credentials(key, "")
        headers = headers_of(webhook_id, at_ms // 1000, body, credentials)
        headers.pop("X-Request-Nonce", None)
        try:
            answer = await call_address(
                self.session,
                "POST",
                url,
                headers=headers,
                body=body,
                deadline_s=VERIFY_S if event == "verify" else self.limits.deadline_s,
                max_body_bytes=self.limits.max_bytes,
            )
            return self._read(answer)
        except OutboundFault as fault:
            raise WebhookFailed(fault.message) from None

    def _read(self, answer: Answer) -> Any:
        most = self.limits.max_bytes
        unpacked = answer.decoded(most + 1)
        if answer.is_cut or len(unpacked) > most:
            raise WebhookFailed(f"The answer is larger than {most} bytes.")
        text = shown_text(unpacked, answer.headers.get("content-type", ""), most)
        if not 200 <= answer.status <= 299:
            shown = f": {text[:_MOST_SHOWN]}" if text else "."
            raise WebhookFailed(f"The address answered with status {answer.status}{shown}")
        try:
            return plain(strictjson.read(unpacked))
        except (strictjson.UnreadableJsonError, NotPlain):
            return text


@dataclass(frozen=True, slots=True)
class HookOwner:
    """The attempt that calls, as bodies name it."""

    account_id: Any
    context: Context

    def envelope(self, event: WebhookEvent, data: Mapping[str, Any], at_ms: int) -> dict[str, Any]:
        """The body of a call; `moment` is when it is made."""
        context = self.context
        given = {} if context.params is None else {"params": context.params}
        return {
            "attemptId": context.attempt_id,
            "sessionId": context.session_id,
            "suiteId": context.suite.id,
            "caseId": context.case.id,
            "repetition": context.repetition,
            **given,
            "moment": rfc3339(datetime.fromtimestamp(at_ms / 1000, UTC)),
            "event": {"name": event, "data": dict(data)},
        }
