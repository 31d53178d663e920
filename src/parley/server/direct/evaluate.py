"""Holds direct evaluations: one task each, owned by the process, ended by its caller leaving."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from parley.engine.converse import converse
from parley.engine.events import Ended, Failure, Opened, Shown
from parley.engine.ports import Clock, Hooks, Parties
from parley.engine.spec import Spec
from parley.server.conversation.charging import Tariff
from parley.server.conversation.guard import CANCELLED, SHUTDOWN, TIME_LIMIT
from parley.server.conversation.narrate import Narrator
from parley.server.conversation.parties import PartyMaker, TargetGone, tariff_of
from parley.server.conversation.sse import Outgoing, Patience
from parley.server.conversation.telling import Telling
from parley.server.conversation.texts import with_texts
from parley.server.db.database import Database
from parley.server.definitions.snapshot import Snapshot, spec_of
from parley.server.direct.account import SLOT_LOST, CallEnd, DirectAccount, DirectGuard
from parley.server.direct.settlements import Settlements
from parley.server.direct.slots import close_lapsed, renew_slots
from parley.server.errors import DatabaseAway
from parley.server.journal.keep import Standing
from parley.server.resources.reader import ResourceReader, ResourceUnavailable

SETTLE_FIRST_S = 1.0
"""How long the end of a stream waits for its charges to be written."""
CLOSE_S = 5.0
"""How long a process that stops waits for its evaluations to be settled."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectLimits:
    """Bounds of a direct evaluation, seconds. Its slot is leased, and the lease renewed while it is open."""

    wall_time_s: float
    lease_s: float
    heartbeat_s: float
    patience: Patience
    """With the one who holds the stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectOrder:
    """One evaluation to be held, and how its account stands."""

    account_id: UUID
    call_id: UUID
    snapshot: Snapshot
    seed: int
    multiplier: Decimal
    standing: Standing


@dataclass(frozen=True, slots=True)
class _Open:
    account_id: UUID
    guard: DirectGuard
    task: asyncio.Task[None]


class DirectEvaluations:
    """The direct evaluations of this process."""

    def __init__(
        self,
        database: Database,
        maker: PartyMaker,
        hooks: Hooks,
        resources: ResourceReader,
        clock: Clock,
        limits: DirectLimits,
        noted: Callable[[Ended], None] | None = None,
    ) -> None:
        """`noted` is told of every end."""
        self._noted = noted
        self._database = database
        self._settlements = Settlements(database)
        self._maker = maker
        self._hooks = hooks
        self._resources = resources
        self._clock = clock
        self._limits = limits
        self._open: dict[UUID, _Open] = {}

    @property
    def lease_s(self) -> float:
        """How long a slot is held without being renewed, seconds."""
        return self._limits.lease_s

    async def run(self) -> None:
        """Renew the leases of what is open here, and close what lost processes left open, for ever."""
        while True:
            await asyncio.sleep(self._limits.heartbeat_s)
            try:
                await self._beat()
            except DatabaseAway:
                _log.warning("leases of direct evaluations are not renewed: the database is away")
            except Exception:
                _log.exception("leases of direct evaluations are not renewed; tried again at the next beat")

    async def _beat(self) -> None:
        held = [(one.account_id, call_id) for call_id, one in self._open.items()]
        if held:
            still_open = await renew_slots(self._database, held, self._limits.lease_s)
            for _, call_id in held:
                if call_id not in still_open and call_id in self._open:
                    self._open[call_id].guard.stop(SLOT_LOST)
        await close_lapsed(self._database, self._limits.heartbeat_s)

    async def begin(self, order: DirectOrder) -> Outgoing:
        """Start the evaluation; its events come out of what is returned.

        Raises `TargetGone` and `ResourceUnavailable`; then the slot is free again and nothing is charged.
        """
        account = DirectAccount(self._settlements, order.account_id, order.call_id)
        guard = DirectGuard(order.standing, account)
        try:
            snapshot = await with_texts(order.snapshot, self._resources)
            spec = spec_of(snapshot, order.seed)
            parties = await self._maker.make(snapshot, spec, order.account_id, guard, self._hooks)
        except TargetGone:
            await account.settle(CallEnd(error_code="gateway_inference"))
            raise
        except ResourceUnavailable:
            await account.settle(CallEnd(error_code="resource_unavailable"))
            raise
        tariff = tariff_of(snapshot, order.multiplier, metered=order.standing.metered)
        telling = Telling(Narrator(spec.max_turns), self._limits.patience)
        holding = _Holding(spec, parties, guard, tariff, account, telling)
        task = asyncio.create_task(self._hold(holding, guard, order.call_id), name="direct-evaluation")
        self._open[order.call_id] = _Open(order.account_id, guard, task)
        return telling.outgoing

    def leave(self, call_id: UUID) -> None:
        """The caller has gone: end the conversation; what was used is still settled."""
        if call_id in self._open:
            self._open[call_id].guard.stop(CANCELLED)

    async def close(self) -> None:
        """End all evaluations of this process; each tells its caller so."""
        still_open = list(self._open.values())
        for one in still_open:
            one.guard.stop(SHUTDOWN)
        if not still_open:
            return
        _, late = await asyncio.wait([one.task for one in still_open], timeout=CLOSE_S)
        for task in late:
            _log.error("a direct evaluation could not be settled before the process stopped")
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _hold(self, holding: _Holding, guard: DirectGuard, call_id: UUID) -> None:
        timer = asyncio.get_running_loop().call_later(self._limits.wall_time_s, guard.stop, TIME_LIMIT)
        try:
            ended = await holding.carry_out()
            if self._noted is not None:
                self._noted(ended)
        finally:
            timer.cancel()
            del self._open[call_id]


class _Holding:
    """One direct evaluation under way."""

    def __init__(
        self,
        spec: Spec,
        parties: Parties,
        guard: DirectGuard,
        tariff: Tariff,
        account: DirectAccount,
        telling: Telling,
    ) -> None:
        self._spec = spec
        self._parties = parties
        self._guard = guard
        self._tariff = tariff
        self._account = account
        self._telling = telling

    async def carry_out(self) -> Ended:
        """Converse to the end, and return it. Whatever happens, the caller gets exactly one terminal event.

        The account is settled before it is told, so that who has read the end finds balance and slots
        as they are now; a database that is away does not keep the caller waiting for long.
        """
        try:
            ended = await self._converse()
        except Exception:
            _log.exception("direct evaluation %s broke", self._account.call_id)
            ended = Ended(at_ms=self._parties.clock.now_ms(), failure=_BROKEN_FAILURE)
        settling = asyncio.create_task(self._account.settle(_call_end(ended)), name="direct-settle")
        try:
            await asyncio.wait([settling], timeout=SETTLE_FIRST_S)
            self._telling.keep(ended)
            self._telling.outgoing.close()
            await settling
        finally:
            self._telling.outgoing.close()
            settling.cancel()
        return ended

    async def _converse(self) -> Ended:
        async with aclosing(converse(self._spec, self._parties)) as events:
            async for event in events:
                if isinstance(event, Opened | Shown):
                    self._telling.show(event, self._parties.clock.now_ms())
                    continue
                if isinstance(event, Ended):
                    return event
                self._account.spend(self._tariff.charge(event))
                self._telling.keep(event)
                if not await self._telling.outgoing.has_room():
                    self._guard.stop(CANCELLED)
        raise RuntimeError("a conversation ended without an end")


_BROKEN_FAILURE = Failure(
    code="internal_error",
    message="Something broke on our side; the evaluation cannot go on.",
    scope="user_inference",
    turn=0,
)


def _call_end(ended: Ended) -> CallEnd:
    if ended.verdict:
        return CallEnd(outcome=ended.verdict.outcome)
    return CallEnd(error_code=ended.failure.code if ended.failure else "cancelled")
