"""The door of event streams: how many one process holds, counted where they come in.

A stream costs memory as long as it is open, so a process that holds enough of them says so at once (503)
instead of becoming slow for all. Nothing is done for each event: the door stands around the whole request.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final

from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai
from opentelemetry.trace import SpanKind, use_span
from opentelemetry.util.types import AttributeValue
from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.contextvars import get_contextvars

from parley.server.api.rendering import error_response
from parley.server.errors import StreamsExhausted
from parley.server.telemetry.watch import Watch

RETRY_AFTER_S: Final = 5
"""What a refused caller is told to wait; another process may take it sooner (our choice)."""
DIRECT: Final = re.compile(r"/api/v1/generations/(agentic-tests|validations)")
EVENTS: Final = re.compile(r"/api/v1/.+/events")


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """One kind of streams: how their requests look, and how many of them one process holds."""

    kind: str
    method: str
    path: re.Pattern[str]
    most: int

    def leads(self, scope: Scope) -> bool:
        """Whether a request wants such a stream."""
        return scope["method"] == self.method and self.path.fullmatch(scope["path"]) is not None


class StreamDoors:
    """Counts open streams by kind, refuses the one too many, and traces direct evaluations."""

    def __init__(self, app: ASGIApp, doors: Sequence[Door], watch: Watch) -> None:
        self._app = app
        self._doors = doors
        self._metrics = watch.metrics
        self._tracing = watch.tracing
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        wanted = scope["type"] == "http" and next((door for door in self._doors if door.leads(scope)), None)
        if not wanted:
            await self._app(scope, receive, send)
        elif self._open[wanted.kind] >= wanted.most:
            if self._metrics is not None:
                self._metrics.refused(wanted.kind)
            refusal = StreamsExhausted(details={"limit": wanted.most}, retry_after_s=RETRY_AFTER_S)
            await error_response(refusal)(scope, receive, send)
        else:
            await self._held(wanted.kind, scope, receive, send)

    async def _held(self, kind: str, scope: Scope, receive: Receive, send: Send) -> None:
        self._count(kind, 1)
        try:
            with self._span() if kind == "direct" else nullcontext():
                await self._app(scope, receive, send)
        finally:
            self._count(kind, -1)

    def _count(self, kind: str, by: int) -> None:
        self._open[kind] += by
        if self._metrics is not None:
            self._metrics.streams(kind, self._open[kind])

    def _span(self) -> AbstractContextManager[object]:
        """The trace of one direct evaluation; what it starts inherits it."""
        if self._tracing is None:
            return nullcontext()
        attributes: dict[str, AttributeValue] = {
            gen_ai.GEN_AI_OPERATION_NAME: "invoke_workflow",
            gen_ai.GEN_AI_WORKFLOW_NAME: "direct evaluation",
            "parley.request.id": get_contextvars().get("request_id", ""),
        }
        span = self._tracing.root("invoke_workflow direct evaluation", SpanKind.SERVER, attributes)
        return use_span(span, end_on_exit=True, record_exception=False)
