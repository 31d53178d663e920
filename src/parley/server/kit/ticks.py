"""What every process does again and again, whatever happens in between."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NoReturn

from parley.server.errors import DatabaseAway

_log = logging.getLogger(__name__)


async def every(tick_s: float, what: str, once: Callable[[], Awaitable[object]]) -> NoReturn:
    """Call `once` every `tick_s` seconds until cancelled. What it raises is logged, under `what`."""
    while True:
        await asyncio.sleep(tick_s)
        try:
            await once()
        except DatabaseAway:
            _log.warning("%s: the database is away", what)
        except Exception:
            _log.exception("%s failed; it is tried again at the next tick", what)
