"""One attempt's talk with its app: what is waited for and how long, and what the attempt shows meanwhile."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from parley.engine.ports import Clock
from parley.server.apps.client import FULL, AppClient
from parley.server.apps.faults import AppAway
from parley.server.attempts.playing import Playing
from parley.server.attempts.schemas import Contact

T = TypeVar("T")

PAUSES_S: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
"""Between tries at an app that is away; the last one goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteRules:
    """Seconds. `call_s`: for one call beyond its wait; `full_s`: for a place in an app that is full.

    `unknown_s`: of silence until nobody knows how the attempt stands; `lost_s`: until it is given up.
    `attempt_s`: for a whole attempt from its start; `cancel_s`: for its end after a cancel; `wait_s`: how
    long one look for events waits; `breath_s`: between two looks that brought nothing.
    """

    call_s: float = 15.0
    full_s: float = 3_600.0
    unknown_s: float = 30.0
    lost_s: float = 120.0
    attempt_s: float = 3_600.0
    cancel_s: float = 60.0
    wait_s: int = 20
    breath_s: float = 1.0


class GaveUp(Exception):
    """The attempt ends here as an error. `code` and `message` go into its record."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Talk:
    """Calls the app as often as it takes, and shows on the attempt how it stands with it."""

    def __init__(self, client: AppClient, attempt: Playing, clock: Clock, rules: RemoteRules) -> None:
        self.client = client
        self.rules = rules
        self._attempt = attempt
        self._clock = clock
        # Another worker may have left something to be seen.
        self._shows: Contact | Literal["fine", "not known"] = "fine" if attempt.is_new else "not known"

    @property
    def is_cancelled(self) -> bool:
        """Whether the attempt is to end early."""
        return self._attempt.stopping.requested

    def now_s(self) -> float:
        """Seconds that only go forward."""
        return self._clock.monotonic_s()

    async def rest(self, seconds: float) -> None:
        """Wait, or until the attempt is to end early."""
        if self.is_cancelled:
            await asyncio.sleep(seconds)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._attempt.stopping.wait()

    async def persistently(
        self,
        call: Callable[[], Awaitable[T]],
        *,
        away: Contact,
        most_s: float = math.inf,
        gives_up: Callable[[], bool] = lambda: False,
    ) -> T:
        """What the call gives, tried again while the app is away: silent for `lost_s`, or full for `most_s`.

        Raises `GaveUp`, the `AppFault` of an app that said no or nonsense, and once `gives_up`, the last
        `AppAway`.
        """
        began_s = silent_since_s = self.now_s()
        tries = 0
        while True:
            try:
                found = await call()
            except AppAway as fault:
                if gives_up():
                    raise
                now_s = self.now_s()
                if fault.code == FULL:
                    silent_since_s = now_s
                silent_s = now_s - silent_since_s
                if silent_s >= self.rules.lost_s or now_s - began_s >= most_s:
                    raise GaveUp("app_lost", f"{fault.message} It was given up.") from fault
                await self._show("unknown" if silent_s >= self.rules.unknown_s else away)
                pause_s = fault.retry_after_s or PAUSES_S[min(tries, len(PAUSES_S) - 1)]
                await self.rest(min(pause_s, self.rules.lost_s))
                tries += 1
            else:
                await self._show(None)
                return found

    def heard(self) -> None:
        """Note that what was kept shows that all is well."""
        self._shows = "fine"

    async def _show(self, contact: Contact | None) -> None:
        if (contact or "fine") != self._shows:
            await self._attempt.keep(contact=contact, was_heard=contact is None)
            self._shows = contact or "fine"
