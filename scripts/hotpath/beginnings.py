"""From `POST runs` to the first request at an llm, on an idle system."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from statistics import median, quantiles

import aiohttp

from scripts.hotpath.figures import Figure
from scripts.hotpath.ground import Ground
from scripts.hotpath.house import House, Tenant
from scripts.hotpath.plan import FIRST_REQUEST_TARGET_MS
from scripts.hotpath.scripted import ScriptedLlms
from scripts.hotpath.subjects import service
from scripts.hotpath.talk import USER_LLM

_TURNS = 2
_REST_S = 0.13
"""From one answer of POST to a look whether the run has ended, and the worker waits again: nothing else
moves meanwhile. Not a multiple of any period of ours."""
_LOG_LIMIT = 10_000


def first_requests(ground: Ground, llms: ScriptedLlms, count: int) -> Iterator[Figure]:
    """Median and 95th percentile over `count` runs."""
    with service(ground, llms, 50) as running:
        tenants = running.tenants(_TURNS)
        llms.pace(log_limit=_LOG_LIMIT)
        posted_ms = asyncio.run(_posts(running.house, tenants, count))
        asked_ms = [line["at_ms"] for line in llms.requests() if line["llm"] == USER_LLM][::_TURNS]
    if len(asked_ms) != count:
        raise RuntimeError(f"{len(asked_ms)} first requests instead of {count}")
    # The server notes whole milliseconds, rounded down.
    waits = [asked + 0.5 - posted for posted, asked in zip(posted_ms, asked_ms, strict=True)]
    found = {"median": median(waits), "p95": quantiles(waits, n=20)[-1]}
    for name, target in FIRST_REQUEST_TARGET_MS.items():
        yield Figure(
            measure=f"POST runs to first llm request, {name}",
            case=f"{count} runs, idle",
            result=found[name],
            unit="ms",
            target=target,
        )


async def _posts(house: House, tenants: list[Tenant], count: int) -> list[float]:
    """When each run was asked for, epoch milliseconds; each begins once the one before has ended."""
    posted_ms = []
    async with aiohttp.ClientSession(house.url) as session:
        for number in range(count):
            posted_ms.append(time.time() * 1000)
            await house.start_run(session, tenants[number % len(tenants)])
            await asyncio.sleep(_REST_S)
            await house.runs_ended(30)
    return posted_ms
