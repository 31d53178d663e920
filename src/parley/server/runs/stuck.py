"""Runs that hold a slot and do not come on, for operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select, text

from parley.server.accounts.lock import lock_account
from parley.server.db.session import Session
from parley.server.db.tables.runs import Run

_STUCK = text("""
SELECT runs.id, runs.account_id, runs.test_id, runs.state, runs.last_seq,
       extract(epoch FROM now() - coalesce(kept.at, runs.started_at, runs.admitted_at))::float8 AS quiet_s,
       coalesce(runs.lease_until > now(), false) AS has_worker
  FROM runs
  LEFT JOIN LATERAL (
      SELECT entries.created_at AS at FROM entries
       WHERE entries.account_id = runs.account_id AND entries.run_id = runs.id AND entries.seq = runs.last_seq
  ) AS kept ON true
 WHERE runs.state IN ('pending', 'running') AND runs.admitted_at IS NOT NULL
   AND coalesce(kept.at, runs.started_at, runs.admitted_at)
       <= now() - make_interval(secs => CAST(:quiet_s AS float8))
 ORDER BY quiet_s DESC
 LIMIT CAST(:most AS bigint)
""")

_FREE = text("""
UPDATE runs SET lease_token = NULL, lease_until = NULL, updated_at = now(),
                admitted_at = CASE WHEN state = 'pending' THEN clock_timestamp() ELSE admitted_at END
 WHERE account_id = :account_id AND id = :run_id
   AND state IN ('pending', 'running') AND admitted_at IS NOT NULL
RETURNING id
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class StuckRun:
    """A run that has kept nothing for `quiet_s` seconds."""

    id: UUID
    account_id: UUID
    test_id: UUID
    state: str
    quiet_s: float
    last_seq: int
    has_worker: bool
    """Whether a worker's lease on it holds: then it is the worker that does not come on."""


async def stuck_runs(session: Session, quiet_s: float, most: int) -> Sequence[StuckRun]:
    """Runs of all accounts that hold a slot and have kept nothing for `quiet_s`, quietest first."""
    rows = await session.execute(_STUCK, {"quiet_s": quiet_s, "most": most})
    return [StuckRun(**row) for row in rows.mappings()]


async def free_run(session: Session, run_id: UUID) -> UUID | None:
    """Take a run from its worker, whose next entry is then refused; its account. None if it has no slot."""
    account_id = await session.scalar(select(Run.account_id).where(Run.id == run_id))
    if account_id is None:
        return None
    await lock_account(session, account_id)
    freed = await session.scalar(_FREE, {"account_id": account_id, "run_id": run_id})
    return account_id if freed else None
