"""The live bus as a place to watch runs from: it is told of every kept entry, and when a run is let go.

What is shown passes by untouched: a streamed chunk costs nothing here.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from opentelemetry import context
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai
from opentelemetry.trace import Span, SpanKind, set_span_in_context
from opentelemetry.util.types import AttributeValue
from redis.asyncio import Redis

from parley.engine.events import Ended, Entry, Opinion
from parley.server.journal.bus import Publisher
from parley.server.telemetry.chat_span import fail
from parley.server.telemetry.metrics import Metrics, outcome_of
from parley.server.telemetry.tracing import Tracing

RUN: Final = "invoke_workflow agentic test"
"""The span of one worker's part of a run."""


class WatchedBus(Publisher):
    """Counts runs and keeps their spans, from `began` to the end of this process's hold."""

    def __init__(self, redis: Redis, prefix: str, metrics: Metrics | None, tracing: Tracing | None) -> None:
        super().__init__(redis, prefix)
        self._metrics = metrics
        self._tracing = tracing
        self._spans: dict[UUID, Span | None] = {}

    def began(self, run_id: UUID, account_id: UUID, test_id: UUID, *, taken_over: bool) -> None:
        """A run begins or goes on in this task. Repeating it for one hold changes nothing."""
        if run_id in self._spans:
            return
        self._spans[run_id] = None
        if self._metrics is not None:
            self._metrics.claimed(taken_over=taken_over)
        if self._tracing is not None:
            attributes: dict[str, AttributeValue] = {
                gen_ai.GEN_AI_OPERATION_NAME: "invoke_workflow",
                gen_ai.GEN_AI_WORKFLOW_NAME: "agentic test",
                gen_ai.GEN_AI_CONVERSATION_ID: str(run_id),
                "parley.account.id": str(account_id),
                "parley.test.id": str(test_id),
                "parley.run.taken_over": taken_over,
            }
            span = self._spans[run_id] = self._tracing.root(RUN, SpanKind.INTERNAL, attributes, run_id)
            # The run has this task for itself, and the context ends with it.
            context.attach(set_span_in_context(span))

    def kept(self, run_id: UUID, seq: int, entry: Entry, written: bytes | None = None) -> None:
        """Send a kept entry, and note what it tells."""
        super().kept(run_id, seq, entry, written)
        span = self._spans.get(run_id)
        if isinstance(entry, Ended):
            if self._metrics is not None:
                self._metrics.ended(entry)
            if span is not None:
                _note_end(span, entry)
        elif isinstance(entry, Opinion) and span is not None:
            _note_opinion(span, entry)

    def forget(self, run_id: UUID) -> None:
        """This process has let the run go."""
        span = self._spans.pop(run_id, None)
        if span is not None:
            span.end()
        super().forget(run_id)


def _note_end(span: Span, ended: Ended) -> None:
    span.set_attribute("parley.run.outcome", outcome_of(ended))
    if ended.failure:
        fail(span, ended.failure.code)


def _note_opinion(span: Span, opinion: Opinion) -> None:
    attributes: dict[str, AttributeValue] = {
        gen_ai.GEN_AI_EVALUATION_NAME: "conversation_delta",
        gen_ai.GEN_AI_EVALUATION_SCORE_VALUE: float(opinion.conversation_delta),
        gen_ai.GEN_AI_EVALUATION_SCORE_LABEL: opinion.state,
        "parley.turn": opinion.turn,
    }
    span.add_event("gen_ai.evaluation.result", attributes)
