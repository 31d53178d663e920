"""Cancels a run: at once while no worker has it, else by asking its worker."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from parley.engine.events import Ended
from parley.engine.ports import Clock
from parley.server.accounts.lock import lock_account
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables.runs import OPEN_STATES, Run
from parley.server.errors import NotFound
from parley.server.journal.bus import Publisher
from parley.server.queue.jobs import RunQueue
from parley.server.runs.admit import admit
from parley.server.runs.repository import RunRepository


class Canceller:
    """Ends runs at somebody's wish. Works within the caller's transaction."""

    def __init__(self, queue: RunQueue, bus: Publisher, clock: Clock) -> None:
        self._queue = queue
        self._bus = bus
        self._clock = clock

    async def cancel(
        self, session: Session, scope: AccountScope, test_id: UUID, run_id: UUID
    ) -> tuple[Run, bool]:
        """Cancel a run of a test; the run, and whether it was open. Raises `NotFound`.

        A running one is `cancelled` once its worker has closed the inference under way.
        """
        runs = RunRepository(session, scope)
        await lock_account(session, scope.account_id)
        run = await runs.of_test(test_id, run_id)
        if run is None:
            raise NotFound
        if run.state not in OPEN_STATES:
            return run, False
        await self._end(session, scope, [run.id])
        await session.refresh(run)
        return run, True

    async def cancel_open(self, session: Session, scope: AccountScope, test_id: UUID) -> None:
        """Cancel every open run of a test."""
        await lock_account(session, scope.account_id)
        await self._end(session, scope, await RunRepository(session, scope).open_of_test(test_id))

    async def _end(self, session: Session, scope: AccountScope, run_ids: Sequence[UUID]) -> None:
        runs = RunRepository(session, scope)
        ended = Ended(at_ms=self._clock.now_ms(), cancelled=True)
        closed: dict[UUID, int] = {}
        for run_id in run_ids:
            seq = await runs.close_pending(run_id, ended)
            if seq is None:
                await runs.ask_to_cancel(run_id)
            else:
                closed[run_id] = seq
        admitted = await admit(session, scope.account_id)

        async def announce() -> None:
            for run_id, seq in closed.items():
                self._bus.kept(run_id, seq, ended)
                self._bus.forget(run_id)
            await self._queue.announce(admitted)

        session.after_commit(announce)
