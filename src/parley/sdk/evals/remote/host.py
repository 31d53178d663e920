"""Plays admitted attempts: takes them in hand, and holds them while they last."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass

from parley.engine.script.protocol import Capacity
from parley.engine.script.work import Stopping
from parley.sdk.evals.clock import SystemClock
from parley.sdk.evals.remote.carrying import Carrier
from parley.sdk.evals.remote.offer import Offer
from parley.sdk.evals.remote.store import Claim, Store

_LOG = logging.getLogger("parley.evals")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTimes:
    """Seconds. A process that does not renew its lease in time has lost its attempts.

    `renew_s` is also how soon a cancel is heard; ended attempts are kept for `keep_s`; `close_s` is what
    running ones get to clean up when the app ends.
    """

    lease_s: float = 30.0
    renew_s: float = 1.0
    keep_s: float = 21_600.0
    close_s: float = 30.0


class News:
    """Something that may be told soon."""

    def __init__(self, told: asyncio.Event, poll_s: float | None) -> None:
        self._told = told
        self._poll_s = poll_s

    async def wait(self, timeout_s: float) -> None:
        """Until there may be news, at most `timeout_s` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s if self._poll_s is None else min(timeout_s, self._poll_s)):
                await self._told.wait()


class Host:
    """One for each process. Its tasks begin with the first `start` and end with `close`."""

    def __init__(self, offer: Offer, store: Store, capacity: Capacity, times: HostTimes) -> None:
        self._store = store
        self._capacity = capacity
        self._times = times
        self._carrier = Carrier(offer, store)
        self._clock = SystemClock()
        self._wake = asyncio.Event()
        self._news = asyncio.Event()
        self._held: dict[str, tuple[Claim, Stopping]] = {}
        self._playing: set[asyncio.Task[None]] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._renewed_s = self._clock.monotonic_s()
        self._is_closing = False

    def start(self) -> None:
        """Begin to play; the store is open."""
        self._tasks = [asyncio.ensure_future(self._dispatch()), asyncio.ensure_future(self._renew())]

    def wake(self) -> None:
        """There may be something to take in hand."""
        self._wake.set()

    def news(self) -> News:
        """Take it before reading the store, and wait on it when there was nothing to read."""
        return News(self._news, self._store.poll_s)

    def cancel(self, attempt_id: str) -> None:
        """End an attempt that is played here, without waiting for the next renewal."""
        found = self._held.get(attempt_id)
        if found:
            found[1].request()

    async def close(self) -> None:
        """Take nothing more in hand; stop and clean up what is played, which ends as error."""
        self._is_closing = True
        self._wake.set()
        await asyncio.wait(self._tasks[:1], timeout=self._times.close_s)
        for _claim, stopping in self._held.values():
            stopping.request()
        if self._playing:
            await asyncio.wait(self._playing, timeout=self._times.close_s)
        for task in (*self._tasks, *self._playing):
            task.cancel()
        await asyncio.gather(*self._tasks, *self._playing, return_exceptions=True)
        await self._carrier.close()

    # Tasks

    async def _dispatch(self) -> None:
        idle_s = self._store.poll_s or self._times.lease_s
        while not self._is_closing:
            self._wake.clear()
            if await self._take_one():
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(idle_s):
                    await self._wake.wait()

    async def _take_one(self) -> bool:
        try:
            if self._clock.monotonic_s() - self._renewed_s > self._times.lease_s / 2:
                # The loop was held up: hold on to what is ours before looking for what others lost.
                await self._renew_held()
            claim = await self._store.claim(
                most_running=self._capacity.concurrent, lease_s=self._times.lease_s
            )
        except Exception as error:
            _LOG.warning("The store of attempts failed: %s", type(error).__name__)
            return False
        if claim is None:
            return False
        stopping = Stopping()
        self._held[claim.attempt_id] = (claim, stopping)
        task = asyncio.ensure_future(self._carry_out(claim, stopping))
        self._playing.add(task)
        task.add_done_callback(self._ended)
        return True

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._playing.discard(task)
        self._wake.set()

    async def _renew(self) -> None:
        forgot_s = self._clock.monotonic_s()
        while True:
            await asyncio.sleep(self._times.renew_s)
            try:
                await self._renew_held()
                if self._clock.monotonic_s() - forgot_s > self._times.lease_s:
                    forgot_s = self._clock.monotonic_s()
                    await self._store.forget(ended_s_ago=self._times.keep_s)
            except Exception as error:
                _LOG.warning("The store of attempts failed: %s", type(error).__name__)
                self._give_up_if_lapsed()

    async def _renew_held(self) -> None:
        if not self._held:
            self._renewed_s = self._clock.monotonic_s()
            return
        tokens = {attempt_id: claim.token for attempt_id, (claim, _) in self._held.items()}
        asked_s = self._clock.monotonic_s()
        for attempt_id, hold in (await self._store.renew(tokens, lease_s=self._times.lease_s)).items():
            found = self._held.get(attempt_id)
            if hold != "held" and found and found[0].token == tokens[attempt_id]:
                found[1].request()
        self._renewed_s = asked_s

    def _give_up_if_lapsed(self) -> None:
        """Stop what others may have in hand by now, because the store was away for longer than a lease."""
        if self._clock.monotonic_s() - self._renewed_s > self._times.lease_s:
            for _claim, stopping in self._held.values():
                stopping.request()

    async def _carry_out(self, claim: Claim, stopping: Stopping) -> None:
        try:
            await self._carrier.carry_out(claim, stopping, self._tell, lambda: self._is_closing)
        finally:
            self._held.pop(claim.attempt_id, None)

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()
