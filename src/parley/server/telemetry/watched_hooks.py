"""Hooks that are watched: each call is counted, timed and traced; addresses and bodies stay out."""

from __future__ import annotations

import time
from typing import Any

from opentelemetry.semconv.attributes.http_attributes import HTTP_REQUEST_METHOD, HTTP_RESPONSE_STATUS_CODE
from opentelemetry.trace import SpanKind

from parley.engine.ports import HookAnswer, Hooks
from parley.engine.spec import Hook
from parley.server.telemetry.chat_span import fail
from parley.server.telemetry.metrics import Metrics
from parley.server.telemetry.tracing import Tracing


class WatchedHooks:
    """The hooks of one conversation, seen from outside."""

    def __init__(self, hooks: Hooks, metrics: Metrics | None, tracing: Tracing | None) -> None:
        self._hooks = hooks
        self._metrics = metrics
        self._tracing = tracing

    async def call(self, hook: Hook, index: int, turn: int, data: dict[str, Any]) -> HookAnswer:
        """Call one hook, as the hooks would."""
        if self._tracing is None:
            return await self._counted(hook, index, turn, data)
        attributes = {"parley.hook.event": hook.event, "parley.turn": turn, HTTP_REQUEST_METHOD: "POST"}
        span = self._tracing.span(f"hook {hook.event}", SpanKind.CLIENT, attributes)
        try:
            answer = await self._counted(hook, index, turn, data)
            if answer.status is not None:
                span.set_attribute(HTTP_RESPONSE_STATUS_CODE, answer.status)
            if not answer.continued:
                fail(span, outcome_of(answer))
            return answer
        finally:
            span.end()

    async def _counted(self, hook: Hook, index: int, turn: int, data: dict[str, Any]) -> HookAnswer:
        began = time.perf_counter()
        answer = await self._hooks.call(hook, index, turn, data)
        if self._metrics is not None:
            self._metrics.hook(hook.event, outcome_of(answer), time.perf_counter() - began)
        return answer


def outcome_of(answer: HookAnswer) -> str:
    """`continued`; `refused` by an answer that says so; `failed` without a whole answer."""
    if answer.continued:
        return "continued"
    return "failed" if answer.error else "refused"
