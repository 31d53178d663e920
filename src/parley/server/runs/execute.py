"""Carries out runs. A process has one executor; it holds as many runs as it is allowed to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from parley.server.conversation.guard import CANCELLED, HANDED_OVER, TIME_LIMIT, ConversationGuard
from parley.server.errors import DatabaseAway
from parley.server.journal.keep import Lease, LeaseLost
from parley.server.kit.tasks import end_tasks
from parley.server.runs.claim import Claimed, cancelled_among, claim, renew
from parley.server.runs.hold import Holding, Preparation, Stores

_log = logging.getLogger(__name__)

OnEnd = Callable[[UUID], Awaitable[None]]
"""What happens after an account's run has ended: its next one is admitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How runs are held. Seconds, but for `concurrency`, the runs of this process, and entries of each."""

    concurrency: int
    lease_s: float
    heartbeat_s: float
    wall_time_s: float
    most_entries: int
    look_s: float = 1.0


@dataclass(slots=True)
class _Held:
    """A run this process holds, or is about to claim: then without lease and guard."""

    task: asyncio.Task[Any] | None = field(default_factory=asyncio.current_task)
    lease: Lease | None = None
    guard: ConversationGuard | None = None
    done: asyncio.Event = field(default_factory=asyncio.Event)


class Executor:
    """Holds the runs of this process. Enter it to start its heartbeat; `drain` before leaving.

    What is still held when it is left is dropped, and waits for its lease to end.
    """

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
            await end_tasks(self._heartbeat)
        await end_tasks(*(one.task for one in self._held.values() if one.task))

    @property
    def heartbeat(self) -> asyncio.Task[None]:
        """What renews the leases for as long as the executor is entered."""
        assert self._heartbeat is not None
        return self._heartbeat

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
            if one.guard:
                one.guard.stop(HANDED_OVER)
        for one in held:
            await one.done.wait()

    async def execute(self, run_id: UUID) -> bool:
        """Carry out the run to its end, or until it is handed over.

        False if it was not to be had, or there is no room; raises `DatabaseAway` if it was not claimed.
        """
        if self.free == 0 or run_id in self._held:
            return False
        held = self._held[run_id] = _Held()
        try:
            claimed = await claim(self._stores.database, run_id, self._limits.lease_s)
            if claimed is None:
                return False
            held.lease, held.guard = claimed.lease, ConversationGuard(claimed.standing)
            has_ended = await self._carry_out(claimed, held.guard)
        finally:
            del self._held[run_id]
            held.done.set()
        if has_ended:
            await self._on_end(claimed.lease.account_id)
        return True

    async def _carry_out(self, claimed: Claimed, guard: ConversationGuard) -> bool:
        run_id = claimed.lease.run_id
        try:
            return await self._hold(claimed, guard)
        except LeaseLost:
            _log.warning("run %s was left to its new holder: the lease is lost", run_id)
            return False
        finally:
            self._stores.bus.forget(run_id)

    async def _hold(self, claimed: Claimed, guard: ConversationGuard) -> bool:
        if claimed.standing.cancel_requested:
            guard.stop(CANCELLED)
        if self._is_draining:
            guard.stop(HANDED_OVER)
        left_s = max(0.0, self._limits.wall_time_s - claimed.age_s)
        timer = asyncio.get_running_loop().call_later(left_s, guard.stop, TIME_LIMIT)
        holding = Holding(claimed, guard, self._stores, most_entries=self._limits.most_entries)
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
            held = [(one.lease, one.guard) for one in self._held.values() if one.lease and one.guard]
            if not held:
                continue
            try:
                if loop.time() - renewed_at >= self._limits.heartbeat_s:
                    renewed_at = loop.time()
                    await self._renew(held)
                await self._look(held)
            except DatabaseAway:
                _log.warning("heartbeat missed: the database is away")
            except Exception:
                _log.exception("heartbeat missed")

    async def _renew(self, held: Sequence[tuple[Lease, ConversationGuard]]) -> None:
        ours = await renew(self._stores.database, [lease for lease, _ in held], self._limits.lease_s)
        for lease, guard in held:
            if lease.run_id not in ours:
                guard.stop(HANDED_OVER)

    async def _look(self, held: Sequence[tuple[Lease, ConversationGuard]]) -> None:
        guards = {lease.run_id: guard for lease, guard in held}
        for run_id in await cancelled_among(self._stores.database, list(guards)):
            guards[run_id].stop(CANCELLED)
