"""Plays waiting attempts, in every worker process. Claims are rows; the queue only wakes early."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NoReturn
from uuid import UUID

from redis.exceptions import RedisError

from parley.engine.ports import Clock
from parley.server.attempts import claim as claims
from parley.server.attempts.holding import Holding
from parley.server.attempts.keep import Held, LeaseLost, cancelled_among, release, renew
from parley.server.attempts.playing import Work
from parley.server.attempts.ports import Players
from parley.server.db.database import Database
from parley.server.errors import DatabaseAway
from parley.server.kit.tasks import end_tasks
from parley.server.kit.ticks import every
from parley.server.queue.pokes import Poke

ATTEMPTS: Final = "attempts"
"""The name of the poke that wakes those who play."""
LOOK_S: Final = 1.0
"""Between two looks for attempts that somebody wants to end."""
DRAIN_S: Final = 3.0
"""How long a worker that stops waits for attempts that nobody could go on with."""

OnEnd = Callable[[UUID], Awaitable[None]]
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayingLimits:
    """How attempts are held. Seconds, except `concurrency`: the attempts of this process at once."""

    concurrency: int
    lease_s: float
    heartbeat_s: float
    tick_s: float


class AttemptWorker:
    """Who plays in a process. `drain` hands over what it holds, `close` drops it to its leases."""

    def __init__(
        self,
        database: Database,
        players: Players,
        clock: Clock,
        poke: Poke,
        limits: PlayingLimits,
        on_end: OnEnd,
    ) -> None:
        self._database = database
        self._players = players
        self._clock = clock
        self._poke = poke
        self._limits = limits
        self._on_end = on_end
        self._name = f"{socket.gethostname()}:{os.getpid()}"
        self._held: dict[asyncio.Task[None], Holding] = {}
        self._freed = asyncio.Event()

    @property
    def held(self) -> int:
        """How many attempts this process is playing."""
        return len(self._held)

    def begin(self) -> tuple[asyncio.Task[NoReturn], ...]:
        """Tasks that play what waits, at every tick, poke, and whenever there is room again.

        They go on for ever; whoever begins them ends them, before `drain`.
        """
        return (
            asyncio.create_task(self._claim_on(), name="attempts"),
            asyncio.create_task(
                every(self._limits.heartbeat_s, "renewal of attempts' leases", self._renew),
                name="attempts-heartbeat",
            ),
            asyncio.create_task(
                every(LOOK_S, "look for cancelled attempts", self._look), name="attempts-look"
            ),
        )

    async def close(self) -> None:
        """Drop what is held, as a process does that dies."""
        await end_tasks(*self._held)

    async def drain(self) -> None:
        """Hand over what others can go on with; wait a little for the rest, then end it with its evidence."""
        bound = {task for task, holding in self._held.items() if not holding.is_left_to_others}
        if bound:
            await asyncio.wait(bound, timeout=DRAIN_S)
        left = dict(self._held)
        await end_tasks(*left)
        for holding in left.values():
            with suppress(LeaseLost):
                if holding.is_left_to_others:
                    await release(self._database, holding.work.held)
                else:
                    await holding.stop_short()

    async def _claim_on(self) -> NoReturn:
        while True:
            more_waits = False
            try:
                more_waits = await self._take()
            except DatabaseAway:
                _log.warning("attempts: the database is away")
            except Exception:
                _log.exception("claiming attempts failed; it is tried again at the next tick")
            if not more_waits:
                await self._poked()
            await self._room()

    async def _take(self) -> bool:
        """Claim as much as there is room for, and begin to play it. Whether more may wait."""
        free = self._limits.concurrency - len(self._held)
        held = await claims.claim(self._database, free, self._limits.lease_s, self._name, list(self._players))
        found = await claims.read(self._database, held)
        for one in held:
            work = found.get(one.attempt_id)
            if work is not None:  # else its evaluation was deleted this moment
                self._begin(work)
        return len(held) == free

    def _begin(self, work: Work) -> None:
        holding = Holding(work, self._players[work.target_kind], self._database, self._clock)
        task = asyncio.create_task(self._play(holding), name=f"attempt-{work.held.attempt_id}")
        self._held[task] = holding
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._held.pop(task, None)
        self._freed.set()

    async def _play(self, holding: Holding) -> None:
        held = holding.work.held
        try:
            await holding.carry_out()
        except LeaseLost:
            _log.info("attempt %s was left to its new holder", held.attempt_id)
            return
        except Exception:
            _log.exception("attempt %s broke in this worker; its lease will end", held.attempt_id)
            return
        await self._on_end(held.account_id)

    async def _room(self) -> None:
        while len(self._held) >= self._limits.concurrency:
            self._freed.clear()
            await self._freed.wait()

    async def _poked(self) -> None:
        try:
            await self._poke.wait(self._limits.tick_s)
        except (RedisError, OSError):
            await asyncio.sleep(self._limits.tick_s)

    async def _renew(self) -> None:
        """Hold on to everything; what was lost is given up."""
        asked = dict(self._held)
        kept = await renew(self._database, [_of(holding) for holding in asked.values()], self._limits.lease_s)
        for task, holding in asked.items():
            if _of(holding).attempt_id not in kept and task in self._held:
                task.cancel()

    async def _look(self) -> None:
        """Tell attempts that somebody wants them to end."""
        holdings = {_of(holding).attempt_id: holding for holding in self._held.values()}
        if holdings:
            for attempt_id in await cancelled_among(self._database, list(holdings)):
                holdings[attempt_id].playing.stopping.request()


def _of(holding: Holding) -> Held:
    return holding.work.held
