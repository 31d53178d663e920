"""Statistics of evaluations that grow, at a cost that does not grow with every result that comes in."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Evaluation
from parley.server.evaluations.figures import StatisticsReply
from parley.server.evaluations.read import live_statistics

ALWAYS_FRESH: Final = 500
"""Results up to which statistics are made anew for each answer: some milliseconds."""
LEAST_AGE_S: Final = 1.0
_SHARE: Final = 10
"""Beyond, making them takes at most one part in this many of a process's time, for each evaluation."""
_REMEMBERED: Final = 100
"""Evaluations whose statistics are kept at hand."""


@dataclass(slots=True)
class _Known:
    """What was made last, how long it may be told, and whether somebody makes it anew."""

    reply: StatisticsReply
    until_s: float
    is_being_made: bool = False


class LiveStatistics:
    """What is told beside posted results. Of many results it may be some seconds old; a run's own page and
    its end are always made anew."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._known: OrderedDict[UUID, _Known] = OrderedDict()

    async def of(self, session: Session, scope: AccountScope, row: Evaluation) -> StatisticsReply:
        """The statistics of an evaluation in this scope."""
        known = self._known.get(row.id)
        if known is None or not (known.is_being_made or self._now_s() < known.until_s):
            return await self._made(session, scope, row, known)
        return known.reply

    async def _made(
        self, session: Session, scope: AccountScope, row: Evaluation, known: _Known | None
    ) -> StatisticsReply:
        if known is not None:
            known.is_being_made = True
        began_s = self._now_s()
        try:
            reply = await live_statistics(session, scope, row)
        finally:
            if known is not None:
                known.is_being_made = False
        took_s = self._now_s() - began_s
        if reply.result_count + reply.pending_count > ALWAYS_FRESH:
            until_s = self._now_s() + max(LEAST_AGE_S, _SHARE * took_s)
            self._known[row.id] = _Known(reply, until_s)
            self._known.move_to_end(row.id)
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return reply
