"""One call of one hook: once, guarded, bounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import ClientSession

from parley.engine.ports import Clock, HookAnswer
from parley.engine.spec import Hook
from parley.server.hooks.envelope import HookSource, envelope, headers_of, message_id
from parley.server.hooks.keys import Credentials
from parley.server.outbound.errors import ConnectFailed, OutboundFault
from parley.server.outbound.fetch import Answer, call_address
from parley.server.outbound.text import shown_text

MAX_AUDITED_CHARS: Final = 4_000
"""How much of an answer is kept (product contract)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookLimits:
    """Bounds of one call: seconds in all, and bytes of the answer, as sent and as unpacked."""

    deadline_s: float = 10.0
    max_bytes: int = 1_000_000


class HookCaller:
    """Calls hooks through a guarded session that keeps no connection alive."""

    def __init__(self, session: ClientSession, clock: Clock, limits: HookLimits) -> None:
        self._session = session
        self._clock = clock
        self._limits = limits

    async def call(
        self,
        source: HookSource,
        hook: Hook,
        index: int,
        turn: int,
        data: Mapping[str, Any],
        credentials: Credentials | None,
    ) -> HookAnswer:
        """Make the call, without a second try. Whatever the other side does is an answer, not an error."""
        at_ms = self._clock.now_ms()
        body = envelope(source, hook.event, data, at_ms)
        webhook_id = message_id(source.run_id, hook.event, turn, index)
        try:
            answer = await call_address(
                self._session,
                "POST",
                hook.url,
                headers=headers_of(webhook_id, at_ms // 1000, body, credentials),
                body=body,
                deadline_s=self._limits.deadline_s,
                max_body_bytes=self._limits.max_bytes,
            )
        except OutboundFault as fault:
            return HookAnswer(continued=False, error=fault.message)
        return self._read(answer)

    def _read(self, answer: Answer) -> HookAnswer:
        max_bytes = self._limits.max_bytes
        try:
            unpacked = answer.decoded(max_bytes + 1)
        except ConnectFailed:
            unpacked = b""  # the status alone decides; the body is for the record
        is_too_large = answer.is_cut or len(unpacked) > max_bytes
        return HookAnswer(
            continued=200 <= answer.status <= 299 and not is_too_large,
            status=answer.status,
            error=f"The answer is larger than {max_bytes} bytes." if is_too_large else None,
            body=shown_text(unpacked, answer.headers.get("content-type", ""), MAX_AUDITED_CHARS),
        )
