"""What counts of runs that have ended, for those who react to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.notifications.policy import RunEnd

_ENDS = text("""
SELECT id, state, outcome, trigger, finished_at, error ->> 'code' AS code, error ->> 'message' AS message
  FROM runs WHERE account_id = :account_id AND id = ANY(:ids) AND finished_at IS NOT NULL
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A run that has ended, and whether an evaluation of a suite had started it."""

    end: RunEnd
    of_suite: bool


async def ends_of(session: Session, scope: AccountScope, run_ids: Sequence[UUID]) -> Sequence[Ended]:
    """The ends of these runs, in this order; those that were removed meanwhile are left out."""
    if not run_ids:
        return []
    rows = await session.execute(_ENDS, {"account_id": scope.account_id, "ids": list(run_ids)})
    found = {row.id: row for row in rows}
    return [
        Ended(
            end=RunEnd(
                run_id=row.id,
                state=row.state,
                outcome=row.outcome,
                at=row.finished_at,
                error_code=row.code,
                error_message=row.message,
            ),
            of_suite=row.trigger == "suite",
        )
        for row in (found[run_id] for run_id in run_ids if run_id in found)
    ]
