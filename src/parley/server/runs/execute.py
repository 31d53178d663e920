"""Carries out runs. A process has one executor; it holds as many runs as it is allowed to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from uuid import UUID

from parley.server.conversation.guard import CANCELLED, HANDED_OVER, TIME_LIMIT, ConversationGuard
from parley.server.errors import DatabaseAway
from parley.server.journal.keep import Lease, LeaseLost
from parley.server.runs.claim import Claimed, cancelled_among, claim, renew
from parley.server.runs.hold import Holding, Preparation, Stores

_log = logging.getLogger(__name__)

OnEnd = Callable[[UUID], Awaitable[None]]
"""What happens after an account's run has ended: its next one is admitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How runs are held. Seconds, except `concurrency`: the runs of this process at once."""

    concurrency: int = 50
    lease_s: float = 30.0
    heartbeat_s: float = 10.0
    look_s: float = 1.0
    wall_time_s: float = 3_600.0


@dataclass(slots=True)
class _Held:
    lease: Lease
    guard: ConversationGuard
    done: asyncio.Event = field(default_factory=asyncio.Event)


class Executor:
    """Holds the runs of this process. Enter it to start its heartbeat; `drain` before leaving."""

    def __init__(self, stores: Stores, preparation: Preparation, limits: Limits, on_end: OnEnd) -> None:
        self._stores = stores
        self._preparation = preparation
        self._limits = limits
        self._on_end = on_end
        self._held: dict[UUID, _Held] = {}
        self._is_draining = False
        self._heartbeat: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Executor:
        self._heartbeat = asyncio.create_task(self._beat(), name="run-heartbeat")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._heartbeat:
            self._heartbeat.cancel()
            await asyncio.gather(self._heartbeat, return_exceptions=True)

    @property
    def free(self) -> int:
        """How many more runs this process takes now."""
        return 0 if self._is_draining else max(0, self._limits.concurrency - len(self._held))

    @property
    def held(self) -> int:
        """How many runs this process holds now."""
        return len(self._held)

    async def drain(self) -> None:
        """Take no more runs, hand over those that are open, and wait until all are let go."""
        self._is_draining = True
        held = list(self._held.values())
        for one in held:
            one.guard.stop(HANDED_OVER)
        for one in held:
            await one.done.wait()

    async def execute(self, run_id: UUID) -> bool:
        """Carry out the run to its end, or until it is handed over. False if it was not to be had."""
        if self._is_draining or run_id in self._held:
            return False
        claimed = await claim(self._stores.database, run_id, self._limits.lease_s)
        if claimed is None:
            return False
        held = self._held[run_id] = _Held(claimed.lease, ConversationGuard(claimed.standing))
        try:
            if await self._hold(claimed, held.guard):
                await self._on_end(claimed.lease.account_id)
        except LeaseLost:
            _log.warning("run %s was left to its new holder: the lease is lost", run_id)
        finally:
            del self._held[run_id]
            self._stores.bus.forget(run_id)
            held.done.set()
        return True

    async def _hold(self, claimed: Claimed, guard: ConversationGuard) -> bool:
        if claimed.standing.cancel_requested:
            guard.stop(CANCELLED)
        if self._is_draining:
            guard.stop(HANDED_OVER)
        left_s = max(0.0, self._limits.wall_time_s - claimed.age_s)
        timer = asyncio.get_running_loop().call_later(left_s, guard.stop, TIME_LIMIT)
        holding = Holding(claimed, guard, self._stores)
        try:
            return await holding.carry_out(self._preparation)
        except (LeaseLost, DatabaseAway):
            raise
        except Exception:
            # A fault of ours would come again in every worker: end the run, so that its owner is told.
            _log.exception("run %s broke", claimed.lease.run_id)
            await holding.give_up()
            return True
        finally:
            timer.cancel()

    async def _beat(self) -> None:
        """Look every second for cancellations of our runs, and renew leases in time."""
        loop = asyncio.get_running_loop()
        renewed_at = loop.time()
        while True:
            await asyncio.sleep(self._limits.look_s)
            held = list(self._held.values())
            if not held:
                continue
            try:
                if loop.time() - renewed_at >= self._limits.heartbeat_s:
                    renewed_at = loop.time()
                    await self._renew(held)
                await self._look(held)
            except DatabaseAway:
                _log.warning("heartbeat missed: the database is away")

    async def _renew(self, held: list[_Held]) -> None:
        ours = await renew(self._stores.database, [one.lease for one in held], self._limits.lease_s)
        for one in held:
            if one.lease.run_id not in ours:
                one.guard.stop(HANDED_OVER)

    async def _look(self, held: list[_Held]) -> None:
        guards = {one.lease.run_id: one.guard for one in held}
        for run_id in await cancelled_among(self._stores.database, list(guards)):
            guards[run_id].stop(CANCELLED)
