"""What every process does again and again, whatever happens in between."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NoReturn

from parley.server.errors import DatabaseAway

_log = logging.getLogger(__name__)


async def every(
    tick_s: float, what: str, once: Callable[[], Awaitable[object]], *, at_once: bool = False
) -> NoReturn:
    """Call `once` every `tick_s` seconds until cancelled, the first time after one wait or `at_once`.

    What it raises is logged, under `what`.
    """
    wait_s = 0.0 if at_once else tick_s
    while True:
        await asyncio.sleep(wait_s)
        wait_s = tick_s
        try:
            await once()
        except DatabaseAway:
            _log.warning("%s: the database is away", what)
        except Exception:
            _log.exception("%s failed; it is tried again at the next tick", what)
