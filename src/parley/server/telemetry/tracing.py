"""Traces in the GenAI conventions of OpenTelemetry, sent to the operator's collector over OTLP.

The trace id of a run is the run's id, so that the parts that several workers held, and what a customer's
own gateway records, meet in one trace without anything being stored. Words are left out unless asked for.
docs/operations/traces.md tells what is recorded.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision, ParentBased, Sampler, SamplingResult
from opentelemetry.trace import Link, Span, SpanKind, Tracer, TraceState
from opentelemetry.util.types import Attributes

TRACES_PATH: Final = "/v1/traces"
"""Behind the address of any collector that speaks OTLP over HTTP."""
EXPORT_WAIT_S: Final = 5.0
"""Bound of sending one batch, and of sending the last ones when the process stops."""
_DRAW_BYTES: Final = 8

_next_trace_id: ContextVar[int | None] = ContextVar("next_trace_id", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRules:
    """Where traces go, which part of them (0 to 1), and whether they hold what was said."""

    url: str
    headers: Mapping[str, str]
    ratio: float = 1.0
    content: bool = False


class Tracing:
    """Makes the spans of one process. It is nobody's global: only what is handed it is traced."""

    def __init__(self, tracer: Tracer, *, content: bool, provider: TracerProvider | None = None) -> None:
        self._tracer = tracer
        self._provider = provider
        self.content = content

    @classmethod
    def to_collector(cls, rules: TraceRules, processor: SpanProcessor | None = None) -> Tracing:
        """Spans go to the collector, in batches, from a thread of the exporter's."""
        resource = {"service.name": "parley", "service.instance.id": f"{socket.gethostname()}:{os.getpid()}"}
        provider = TracerProvider(
            sampler=ParentBased(ByTraceId(rules.ratio)),
            resource=Resource.create(resource),
            id_generator=_Ids(),
            shutdown_on_exit=False,
        )
        provider.add_span_processor(processor or _to_collector(rules))
        return cls(provider.get_tracer("parley"), content=rules.content, provider=provider)

    def root(self, name: str, kind: SpanKind, attributes: Attributes, trace_id: UUID | None = None) -> Span:
        """A span that begins a trace: the one of `trace_id`, or a new one."""
        with _with_trace_id(trace_id):
            return self._tracer.start_span(name, Context(), kind, attributes)

    def span(self, name: str, kind: SpanKind, attributes: Attributes) -> Span:
        """A span below the one that is current."""
        return self._tracer.start_span(name, None, kind, attributes)

    async def close(self) -> None:
        """Send what is left, within `EXPORT_WAIT_S`."""
        if self._provider is not None:
            await asyncio.to_thread(self._provider.force_flush, int(EXPORT_WAIT_S * 1000))
            await asyncio.to_thread(self._provider.shutdown)


class ByTraceId(Sampler):
    """Takes a part of all traces, the same ones in every process.

    Ids of runs that start together follow one another, so it is a digest of the id that decides.
    """

    def __init__(self, ratio: float) -> None:
        self._ratio = ratio
        self._below = round(ratio * (1 << 8 * _DRAW_BYTES))

    def should_sample(
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        """Keep the trace or drop it."""
        digest = hashlib.blake2b(trace_id.to_bytes(16), digest_size=_DRAW_BYTES).digest()
        kept = int.from_bytes(digest) < self._below
        return SamplingResult(Decision.RECORD_AND_SAMPLE if kept else Decision.DROP, attributes)

    def get_description(self) -> str:
        """Its name."""
        return f"ByTraceId{{{self._ratio:g}}}"


def traceparent(span: Span) -> str | None:
    """What tells others of this span (W3C Trace Context). None if it is dropped.

    A header that says "not sampled" would make the receiver drop its own trace.
    """
    context = span.get_span_context()
    if not context.is_valid or not context.trace_flags.sampled:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


class _Ids(RandomIdGenerator):
    def generate_trace_id(self) -> int:
        return _next_trace_id.get() or super().generate_trace_id()

    def is_trace_id_random(self) -> bool:
        """The ids of runs begin with their time, and count up."""
        return False


@contextmanager
def _with_trace_id(trace_id: UUID | None) -> Iterator[None]:
    token = _next_trace_id.set(trace_id.int if trace_id else None)
    try:
        yield
    finally:
        _next_trace_id.reset(token)


def _to_collector(rules: TraceRules) -> BatchSpanProcessor:
    url = f"{rules.url.rstrip('/')}{TRACES_PATH}"
    exporter = OTLPSpanExporter(endpoint=url, headers=dict(rules.headers), timeout=EXPORT_WAIT_S)
    return BatchSpanProcessor(
        exporter,
        max_queue_size=8_192,
        schedule_delay_millis=1_000,
        max_export_batch_size=512,
        export_timeout_millis=EXPORT_WAIT_S * 1000,
    )
