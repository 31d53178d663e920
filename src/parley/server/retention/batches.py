"""Removal in batches whose size follows what the database can do within its statement timeout."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

_QUERY_CANCELED = "57014"
"""SQLSTATE of a statement that ran into its timeout."""

_log = logging.getLogger(__name__)


class Batches:
    """Repeats a removal until nothing is left, never more than `most` rows at once.

    A batch that takes too long is tried again with a quarter of it, down to a single row, so that
    heavy rows are removed slowly rather than never. A batch that is done lets the size grow again.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.size = most

    async def drain(self, remove: Callable[[int], Awaitable[int]]) -> int:
        """Call `remove(limit)`, which tells how many rows went, until it finds fewer than it may take.

        Rests after each batch as long as that took: what customers do comes first. Raises what `remove`
        raises, a timeout only once a single row ran into it.
        """
        loop = asyncio.get_running_loop()
        removed = 0
        while True:
            size, began_at = self.size, loop.time()
            try:
                found = await remove(size)
            except Exception as fault:
                if size == 1 or not took_too_long(fault):
                    raise
                self.size = max(1, size // 4)
                _log.warning("retention: %d rows took too long, now %d at once", size, self.size)
                continue
            removed += found
            if found < size:
                return removed
            self.size = min(self._most, size * 2)
            await asyncio.sleep(loop.time() - began_at)


def took_too_long(fault: BaseException) -> bool:
    """Whether a statement ran into its timeout, also where that counts as a database that is away."""
    told: BaseException | None = fault
    while told is not None:
        if getattr(getattr(told, "orig", told), "sqlstate", None) == _QUERY_CANCELED:
            return True
        told = told.__cause__
    return False
