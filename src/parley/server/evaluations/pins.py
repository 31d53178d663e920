"""Pinned baselines: the measure that does not move until somebody moves it."""

from __future__ import annotations

from uuid import UUID

from parley.engine.gate.baseline import unfit
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.errors import NotABaseline
from parley.server.evaluations.load import outline_of
from parley.server.evaluations.read import require
from parley.server.evaluations.repository import PinRepository
from parley.server.kit.ids import new_id


async def pin(session: Session, scope: AccountScope, evaluation_id: UUID) -> None:
    """Make an evaluation the pinned baseline of its line. Raises `NotFound`, `NotABaseline`."""
    row = await require(session, scope, evaluation_id)
    reason = unfit(outline_of(row))
    if reason is not None:
        raise NotABaseline(f"This evaluation cannot be a baseline: it {reason}.")
    values = {
        "account_id": scope.account_id,
        "id": new_id(),
        "dataset_id": row.dataset_id,
        "suite_id": row.suite_id,
        "grading_hash": row.grading_hash,
        "split": row.split,
        "evaluation_id": row.id,
    }
    await PinRepository(session, scope).put(values)


async def unpin(session: Session, scope: AccountScope, evaluation_id: UUID) -> None:
    """Take the pin away, if it is on this evaluation. Raises `NotFound`."""
    row = await require(session, scope, evaluation_id)
    pins = PinRepository(session, scope)
    found = await pins.of_line(row)
    if found is not None and found.evaluation_id == row.id:
        await pins.delete(found)
