"""What apps offer, read once for many attempts: a manifest may have megabytes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from parley.engine.ports import Clock
from parley.engine.script.protocol import Manifest
from parley.engine.script.record import JudgeIdentity
from parley.server.apps.client import AppAddress, AppClient

FRESH_S: Final = 10.0
"""How old an offer may be. One that has changed is noticed: the app refuses another revision or judge."""
MOST_KEPT: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """As much of a manifest as admission needs. `revisions` by suite id."""

    instance: str
    revisions: Mapping[str, str]
    judge: JudgeIdentity | None


class Offers:
    """The offers of apps, each read by one of those who want it at once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[AppAddress, tuple[float, Offered]] = {}
        self._reading: dict[AppAddress, asyncio.Lock] = {}

    async def of(self, address: AppAddress, client: AppClient, *, anew: bool = False) -> Offered:
        """What the app offers; `anew` where what was kept has proved wrong. Raises `AppFault`."""
        asked_s = self._clock.monotonic_s()
        async with self._reading.setdefault(address, asyncio.Lock()):
            at_s, kept = self._kept.get(address, (float("-inf"), None))
            if kept is not None and at_s >= (asked_s if anew else asked_s - FRESH_S):
                return kept
            found = _offered(await client.manifest())
            self._make_room()
            self._kept[address] = (self._clock.monotonic_s(), found)
            return found

    def _make_room(self) -> None:
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
            self._reading = {address: lock for address, lock in self._reading.items() if lock.locked()}


def _offered(manifest: Manifest) -> Offered:
    return Offered(
        instance=manifest.instance,
        revisions={offer.suite.id: offer.revision for offer in manifest.suites},
        judge=manifest.judge,
    )
