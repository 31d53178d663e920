"""Plays admitted attempts: takes them in hand, holds them while they last, and ends what others lost."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from parley.engine.script.attempt import play
from parley.engine.script.draft import AttemptDraft, AttemptPlan
from parley.engine.script.following import broken_off
from parley.engine.script.protocol import AttemptRequest, Capacity, RouteError
from parley.engine.script.record import AttemptRecord, ErrorRecord, StepRecord
from parley.engine.script.work import Stopping
from parley.sdk.evals.clock import SystemClock
from parley.sdk.evals.remote.offer import Judges, Offer, Refusal
from parley.sdk.evals.remote.store import Claim, LeaseLost, Store
from parley.sdk.evals.remote.telling import StoreLost, Writer

PAGE_EVENTS: Final = 200
PAGE_BYTES: Final = 8_000_000
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
        self._offer = offer
        self._store = store
        self._capacity = capacity
        self._times = times
        self._judges = Judges(offer)
        self._clock = SystemClock()
        self._wake = asyncio.Event()
        self._news = asyncio.Event()
        self._held: dict[str, tuple[Claim, Stopping]] = {}
        self._playing: set[asyncio.Task[None]] = set()
        self._tasks: list[asyncio.Task[None]] = []
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
        for _claim, stopping in self._held.values():
            stopping.request()
        if self._playing:
            await asyncio.wait(self._playing, timeout=self._times.close_s)
        for task in (*self._tasks, *self._playing):
            task.cancel()
        await asyncio.gather(*self._tasks, *self._playing, return_exceptions=True)
        await self._judges.close()

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

    async def _renew_held(self) -> None:
        if not self._held:
            return
        tokens = {attempt_id: claim.token for attempt_id, (claim, _) in self._held.items()}
        for attempt_id, hold in (await self._store.renew(tokens, lease_s=self._times.lease_s)).items():
            found = self._held.get(attempt_id)
            if hold != "held" and found and found[0].token == tokens[attempt_id]:
                found[1].request()

    # One attempt

    async def _carry_out(self, claim: Claim, stopping: Stopping) -> None:
        writer = Writer(self._store, claim, stopping, self._tell)
        try:
            await self._end(claim, stopping, writer)
        except (LeaseLost, StoreLost):
            _LOG.warning("The attempt %s was lost to this process.", claim.attempt_id)
        finally:
            self._held.pop(claim.attempt_id, None)
            await writer.close()

    async def _end(self, claim: Claim, stopping: Stopping, writer: Writer) -> None:
        try:
            plan = self._offer.plan_of(AttemptRequest.of_wire(dict(claim.order)))
            if claim.duty == "lost":
                await self._end_lost(claim, plan, writer)
            elif claim.duty == "cancel":
                await writer.finish(self._not_begun(plan))
            else:
                judge = await self._judges.pinned(plan.judge)
                record = await play(plan, self._offer.around(judge, stopping), writer.hear)
                await writer.finish(self._as_it_ended(record))
        except Refusal as refusal:
            await writer.refuse(refusal.error)
        except (LeaseLost, StoreLost):
            raise
        except Exception:
            _LOG.exception("The attempt %s could not be played.", claim.attempt_id)
            told = "The app could not play the attempt; its log says why."
            await writer.refuse(RouteError(code="host_failed", message=told))

    def _as_it_ended(self, record: AttemptRecord) -> AttemptRecord:
        """A stop that nobody but the end of the app wished for is an error, not a cancel."""
        if not self._is_closing or record.status != "cancelled":
            return record
        error = ErrorRecord(phase="execute", code="app_stopped", message="The app was stopped meanwhile.")
        return record.model_copy(update={"status": "error", "errors": (*record.errors, error)})

    def _not_begun(self, plan: AttemptPlan) -> AttemptRecord:
        draft = AttemptDraft(plan=plan, started_at=self._clock.now_ms(), began_s=0.0, is_cancelled=True)
        return draft.record(0.0)

    async def _end_lost(self, claim: Claim, plan: AttemptPlan, writer: Writer) -> None:
        """Another process began it and is gone: never played again, and kept with what was observed."""
        told = "The process that played the attempt is gone."
        started_at, steps = await self._observed(claim)
        if started_at is None:
            await writer.refuse(RouteError(code="lease_lost", message=told))
            return
        error = ErrorRecord(phase="execute", code="lease_lost", message=told)
        await writer.finish(broken_off(plan, steps, error, started_at, self._clock.now_ms()))

    async def _observed(self, claim: Claim) -> tuple[int | None, list[StepRecord]]:
        started_at: int | None = None
        cursor = 0
        steps: list[StepRecord] = []
        while True:
            page = await self._store.read(claim.attempt_id, cursor, most=PAGE_EVENTS, max_bytes=PAGE_BYTES)
            if page is None or not page.events:
                return started_at, steps
            cursor = page.events[-1][0]
            for _, event in page.events:
                if event["type"] == "case-started":
                    started_at, steps = int(event["at"]), []
                if event["type"] == "step-completed":
                    steps.append(StepRecord.of_wire(event["step"]))

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()
