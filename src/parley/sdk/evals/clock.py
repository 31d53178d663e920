"""The clocks of this machine."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """The clocks of this machine."""

    def now_ms(self) -> int:
        """Epoch milliseconds."""
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        """Seconds that only go forward."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
