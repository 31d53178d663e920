"""One run in the hands of this process: converse, keep each entry, write the end."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from parley.engine.converse import converse
from parley.engine.events import ENTRY, Ended, Entry, Failure, Opened, Shown, Spent, role_in
from parley.engine.plan import CallHook, Finish, next_step, scope_of
from parley.engine.ports import Clock, Parties
from parley.engine.spec import Spec
from parley.engine.state import WORKER_LOST, State, fold
from parley.server.conversation.charging import Tariff
from parley.server.conversation.guard import CANCELLED, ENTRY_LIMIT, ConversationGuard
from parley.server.db.database import Database
from parley.server.journal.bus import Publisher
from parley.server.journal.keep import Journal, patiently
from parley.server.runs.claim import Claimed, release
from parley.server.runs.finish import finish


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a claimed run needs to be carried out."""

    spec: Spec
    parties: Parties
    tariff: Tariff


class Preparation(Protocol):
    """Makes a conversation out of a claimed run."""

    async def prepare(self, claimed: Claimed, guard: ConversationGuard) -> Prepared | Ended:
        """The conversation, or the end of a run that cannot even begin."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """Where a run is kept and shown."""

    database: Database
    journal: Journal
    bus: Publisher
    clock: Clock


class Holding:
    """A claimed run. Every method raises `LeaseLost` once somebody else has it."""

    def __init__(
        self, claimed: Claimed, guard: ConversationGuard, stores: Stores, *, most_entries: int
    ) -> None:
        self._claimed = claimed
        self._lease = claimed.lease
        self._guard = guard
        self._stores = stores
        self._most_entries = most_entries
        self._state = State()

    async def carry_out(self, preparation: Preparation) -> bool:
        """Carry the run to its end. False if it was handed over instead."""
        if self._claimed.last_seq:
            journal = self._stores.journal
            kept = await patiently(lambda: journal.read(self._lease.account_id, self._lease.run_id))
            self._state = fold(kept)
        prepared = await patiently(lambda: preparation.prepare(self._claimed, self._guard))
        if isinstance(prepared, Ended):
            await self._end(prepared)
            return True
        if self._claimed.taken_over:
            await self._keep(_takeover(prepared.spec, self._state, self._stores.clock), prepared.tariff)
        async with aclosing(converse(prepared.spec, prepared.parties, self._state)) as events:
            async for event in events:
                if isinstance(event, Opened | Shown):
                    self._stores.bus.show(self._lease.run_id, self._state.seq + 1, event)
                elif isinstance(event, Ended):
                    await self._end(event)
                    return True
                else:
                    await self._keep(event, prepared.tariff)
        await patiently(lambda: release(self._stores.database, self._lease))
        return False

    async def give_up(self) -> None:
        """End a run that cannot be carried out here."""
        failure = Failure(
            code=WORKER_LOST,
            message="Something broke on our side while the run was carried out.",
            scope="user_inference",
            turn=self._state.turn,
        )
        await self._end(Ended(at_ms=self._stores.clock.now_ms(), failure=failure))

    async def _keep(self, entry: Entry, tariff: Tariff) -> None:
        seq, written = self._state.seq + 1, ENTRY.dump_json(entry)
        charge = tariff.charge(entry)
        standing = await self._stores.journal.keep(self._lease, seq, entry, charge, written)
        self._guard.standing = standing
        if standing.cancel_requested:
            self._guard.stop(CANCELLED)
        if seq >= self._most_entries:
            self._guard.stop(ENTRY_LIMIT)
        self._state = self._state.after(entry)
        self._stores.bus.kept(self._lease.run_id, seq, entry, written)

    async def _end(self, ended: Ended) -> None:
        written = await patiently(lambda: finish(self._stores.database, self._lease, self._state, ended))
        self._state = self._state.after(written)
        self._stores.bus.kept(self._lease.run_id, self._state.seq, written)


def _takeover(spec: Spec, state: State, clock: Clock) -> Spent:
    """What a lost worker leaves: its attempt cost us, not the account, since nobody knows what it used."""
    step = next_step(spec, state)
    return Spent(
        role=role_in(scope_of(spec, step)),
        turn=step.turn if step else state.turn,
        attempt=0 if step is None or isinstance(step, CallHook | Finish) else state.faults + 1,
        reason="handed_over",
        code=WORKER_LOST,
        error="The worker that held the run was lost; another one goes on.",
        will_retry=True,
        usage=None,
        at_ms=clock.now_ms(),
    )
