"""Time. Rooms take a `Clock` so that tests can hold it still; rows take the database's clock."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime


class SystemClock:
    """The real clock, in the shape the engine asks for."""

    def now_ms(self) -> int:
        """Wall clock, epoch milliseconds."""
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        """A clock that only goes forward, seconds."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


def utc_now() -> datetime:
    """Now, aware, in UTC."""
    return datetime.now(UTC)


def rfc3339(moment: datetime) -> str:
    """`moment` as RFC 3339 in UTC with `Z` and milliseconds."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
