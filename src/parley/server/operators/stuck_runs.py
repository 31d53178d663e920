"""Runs that do not come on."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from parley.server.db.session import Session
from parley.server.errors import NotFound
from parley.server.operators.acts import Via, record
from parley.server.queue.jobs import RunQueue
from parley.server.runs.stuck import StuckRun, free_run, stuck_runs


async def list_stuck(session: Session, quiet_s: float, most: int) -> Sequence[StuckRun]:
    """Runs that hold a slot and have kept nothing for `quiet_s` seconds, quietest first."""
    return await stuck_runs(session, quiet_s, most)


async def release(session: Session, via: Via, run_id: UUID, queue: RunQueue) -> None:
    """Take a run from whoever holds it, for any worker to go on after its last kept entry.

    Raises `NotFound` for a run that is not open, or waits for a slot.
    """
    account_id = await free_run(session, run_id)
    if account_id is None:
        raise NotFound("There is no such run that holds a slot.")
    await record(session, via, "run.release", account_id, run_id=run_id)

    async def announce() -> None:
        await queue.announce([run_id])

    session.after_commit(announce)
