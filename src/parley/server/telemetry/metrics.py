"""What one process counts. Nothing is labelled by account, test or run, so that the page stays small.

docs/operations/metrics.md lists every metric; a test keeps the two in step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from parley.engine.chat.pieces import Usage
from parley.engine.events import Ended, Speaking
from parley.engine.spec import HookEvent
from parley.server.llm.prices import Prices, cost_of

prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]

ANSWER_S: Final = (0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 600)
"""Buckets of inferences and hooks, seconds: from a cache's answer to the longest inference allowed."""
HEAD_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""Buckets of our own answers, seconds."""


class Metrics:
    """The counters of one process, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self._inferences = self._counter(
            "parley_inferences",
            "Attempts at inferences, by who speaks and how they ended.",
            "role",
            "outcome",
        )
        self._inference_s = self._histogram(
            "parley_inference_seconds", "Whole attempts that were answered.", ANSWER_S, "role"
        )
        self._first_piece_s = self._histogram(
            "parley_inference_first_piece_seconds",
            "Wait for the first piece of an attempt.",
            ANSWER_S,
            "role",
        )
        self._tokens = self._counter(
            "parley_tokens",
            "Tokens as providers reported them; cached ones are part of prompt.",
            "role",
            "kind",
        )
        self._cost = self._counter(
            "parley_inference_cost_usd",
            "Reported tokens at the tests' prices, before plans' multipliers.",
            "role",
        )
        self._unreported = self._counter(
            "parley_inferences_without_usage", "Answered attempts whose provider reported no tokens.", "role"
        )
        self._hook_calls = self._counter(
            "parley_hook_calls",
            "Calls of hooks: continued, refused by the answer, or failed.",
            "event",
            "outcome",
        )
        self._hook_s = self._histogram("parley_hook_seconds", "Calls of hooks.", ANSWER_S, "event")
        self._claims = self._counter(
            "parley_runs_claimed",
            "Runs that began or went on in this process; takeovers are of lost workers.",
            "how",
        )
        self._ends = self._counter(
            "parley_runs_ended", "Runs that ended in this process, by outcome and failure.", "outcome", "code"
        )
        self._direct_ends = self._counter(
            "parley_direct_evaluations_ended",
            "Direct evaluations that ended in this process, by outcome and failure.",
            "outcome",
            "code",
        )
        self._swept = self._counter("parley_sweep_actions", "What the sweep found left behind.", "action")
        self._requests = self._counter(
            "parley_http_requests", "Answered requests by route.", "method", "route", "status"
        )
        self._head_s = self._histogram(
            "parley_http_request_seconds",
            "From a request to the head of its answer.",
            HEAD_S,
            "method",
            "route",
        )
        self._streams = self._gauge("parley_streams_open", "Open event streams of this process.", "kind")
        self._refused = self._counter("parley_streams_refused", "Streams beyond the process's bound.", "kind")
        self._held = self._gauge("parley_runs_held", "Runs this worker holds now.")
        self._room = self._gauge("parley_run_room", "Runs this worker would take besides those it holds.")
        self._pooled = self._gauge(
            "parley_database_connections", "Connections of this process that are in use or kept at hand."
        )

        self._pooled_most = self._gauge(
            "parley_database_connections_most", "Connections this process may have at once."
        )

    def inference(self, role: Speaking, outcome: str, took_s: float, first_piece_s: float | None) -> None:
        """An attempt has ended: `answered`, `stopped`, `timed_out`, or the code of its fault."""
        self._inferences.labels(role, outcome).inc()
        if outcome == "answered":
            self._inference_s.labels(role).observe(took_s)
        if first_piece_s is not None:
            self._first_piece_s.labels(role).observe(first_piece_s)

    def usage(self, role: Speaking, usage: Usage | None, prices: Prices) -> None:
        """What an answered attempt used, as its provider told."""
        if usage is None:
            self._unreported.labels(role).inc()
            return
        self._tokens.labels(role, "prompt").inc(usage.prompt_tokens)
        self._tokens.labels(role, "cached_prompt").inc(usage.cached_prompt_tokens)
        self._tokens.labels(role, "completion").inc(usage.completion_tokens)
        self._cost.labels(role).inc(float(cost_of(usage, prices)))

    def hook(self, event: HookEvent, outcome: str, took_s: float) -> None:
        """A hook was called: `continued`, `refused` or `failed`."""
        self._hook_calls.labels(event, outcome).inc()
        self._hook_s.labels(event).observe(took_s)

    def claimed(self, *, taken_over: bool) -> None:
        """A run begins or goes on here."""
        self._claims.labels("taken_over" if taken_over else "given").inc()

    def ended(self, ended: Ended) -> None:
        """A run has ended here."""
        self._ends.labels(outcome_of(ended), ended.failure.code if ended.failure else "").inc()

    def direct_ended(self, ended: Ended) -> None:
        """A direct evaluation has ended here, and was settled."""
        self._direct_ends.labels(outcome_of(ended), ended.failure.code if ended.failure else "").inc()

    def swept(self, action: str, count: int) -> None:
        """The sweep did something about `count` runs."""
        self._swept.labels(action).inc(count)

    def answered(self, method: str, route: str, status: int, head_s: float) -> None:
        """A request was answered."""
        self._requests.labels(method, route, str(status)).inc()
        self._head_s.labels(method, route).observe(head_s)

    def streams(self, kind: str, open_now: int) -> None:
        """How many streams of a kind are open."""
        self._streams.labels(kind).set(open_now)

    def refused(self, kind: str) -> None:
        """A stream was one too many."""
        self._refused.labels(kind).inc()

    def watch_worker(self, held: Callable[[], float], room: Callable[[], float]) -> None:
        """Ask the worker at each scrape."""
        self._held.set_function(held)
        self._room.set_function(room)

    def watch_pool(self, in_use: Callable[[], float], most: int) -> None:
        """Ask the pool at each scrape."""
        self._pooled.set_function(in_use)
        self._pooled_most.set(most)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(name, text, labels, buckets=buckets, registry=self.registry)


def outcome_of(ended: Ended) -> str:
    """How a run ended, in one word: its verdict's outcome, `cancelled` or `failed`."""
    if ended.cancelled:
        return "cancelled"
    return ended.verdict.outcome if ended.verdict else "failed"
