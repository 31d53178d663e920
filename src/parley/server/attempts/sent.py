"""Runs that were played elsewhere and sent in: each is kept once, however often it is sent."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from parley.server.attempts.repository import PlanRepository
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import ScriptPlan
from parley.server.errors import IdempotencyConflict

_ANOTHER: Final = "Another run was sent under this id."


async def find_sent(session: Session, scope: AccountScope, run_id: str, sha256: bytes) -> UUID | None:
    """The evaluation that a run was kept as. Raises `IdempotencyConflict` for another run under its id."""
    plans = PlanRepository(session, scope)
    statement = plans.narrow(select(ScriptPlan.evaluation_id, ScriptPlan.run_sha256))
    row = (await session.execute(statement.where(ScriptPlan.run_id == run_id))).first()
    if row is None:
        return None
    if row.run_sha256 != sha256:
        raise IdempotencyConflict(_ANOTHER)
    found: UUID = row.evaluation_id
    return found


async def mark_sent(session: Session, plan: ScriptPlan, run_id: str, sha256: bytes) -> None:
    """Remember which run a plan is of. Raises `IdempotencyConflict` where a run of another suite was quicker.

    Nothing more can be written in this transaction then.
    """
    plan.run_id, plan.run_sha256 = run_id, sha256
    try:
        await session.flush()
    except IntegrityError:
        raise IdempotencyConflict(_ANOTHER) from None
