"""What of a process is watched, and how the rest of the house asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from redis.asyncio import Redis

from parley.engine.events import Speaking
from parley.engine.ports import Guard, Parties, Speaker
from parley.server.journal.bus import Publisher
from parley.server.llm.prices import Prices
from parley.server.telemetry.metrics import Metrics
from parley.server.telemetry.speaker import WatchedSpeaker, Watchers
from parley.server.telemetry.tracing import Tracing
from parley.server.telemetry.watched_bus import WatchedBus
from parley.server.telemetry.watched_hooks import WatchedHooks


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What watches this process. With neither, everything is handed on as it is and nothing is paid for."""

    metrics: Metrics | None = None
    tracing: Tracing | None = None

    def bus(self, redis: Redis, prefix: str) -> Publisher:
        """The live bus of this process."""
        if self.metrics is None and self.tracing is None:
            return Publisher(redis, prefix)
        return WatchedBus(redis, prefix, self.metrics, self.tracing)

    def parties(self, parties: Parties, prices: Mapping[Speaking, Prices]) -> Parties:
        """The same parties, watched. `prices` are those of the test."""
        if self.metrics is None and self.tracing is None:
            return parties

        def watched(speaker: Speaker, role: Speaking) -> Speaker:
            return self.speaker(speaker, role, prices[role], parties.guard)

        return replace(
            parties,
            user=watched(parties.user, "user"),
            gateway=watched(parties.gateway, "assistant"),
            judge=watched(parties.judge, "judge"),
            hooks=WatchedHooks(parties.hooks, self.metrics, self.tracing),
        )

    def speaker(self, speaker: Speaker, role: Speaking, prices: Prices, guard: Guard) -> Speaker:
        """The same speaker, watched."""
        if self.metrics is None and self.tracing is None:
            return speaker
        watchers = Watchers(metrics=self.metrics, tracing=self.tracing)
        return WatchedSpeaker(speaker, role, prices, guard, watchers)


UNWATCHED = Watch()
"""Nobody watches."""
