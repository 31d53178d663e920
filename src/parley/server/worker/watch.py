"""A run as it is watched: its ids in every log line of its task, and its beginning told to the watchers."""

from __future__ import annotations

from structlog.contextvars import bind_contextvars

from parley.engine.events import Ended
from parley.server.conversation.guard import ConversationGuard
from parley.server.journal.bus import Publisher
from parley.server.runs.claim import Claimed
from parley.server.runs.hold import Preparation, Prepared
from parley.server.telemetry.watched_bus import WatchedBus


class WatchedPreparation:
    """Prepares as it is told to; what it notes lives as long as the task, which carries one run."""

    def __init__(self, preparation: Preparation, bus: Publisher) -> None:
        self._preparation = preparation
        self._watched = bus if isinstance(bus, WatchedBus) else None

    async def prepare(self, claimed: Claimed, guard: ConversationGuard) -> Prepared | Ended:
        """The conversation, or the end of a run that cannot even begin."""
        lease = claimed.lease
        bind_contextvars(run_id=str(lease.run_id), account_id=str(lease.account_id))
        if self._watched is not None:
            self._watched.began(
                lease.run_id, lease.account_id, claimed.test_id, taken_over=claimed.taken_over
            )
        return await self._preparation.prepare(claimed, guard)
