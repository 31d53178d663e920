"""Two stored evaluations side by side."""

from __future__ import annotations

import asyncio
from uuid import UUID

from parley.engine.comparison import compare
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Evaluation
from parley.server.errors import EvaluationOpen, InvalidRequest
from parley.server.evaluations.figures import ComparisonReply, told_comparison
from parley.server.evaluations.load import graded_of
from parley.server.evaluations.read import require
from parley.server.evaluations.repository import EvaluationRepository


async def compared(
    session: Session, scope: AccountScope, evaluation_id: UUID, baseline_id: UUID | None
) -> ComparisonReply:
    """What changed since `baseline_id`, by default the baseline fixed on completion.

    Raises `NotFound`, `EvaluationOpen` for either side, `InvalidRequest` for a baseline that is none.
    """
    now = await require(session, scope, evaluation_id)
    wanted = baseline_id or now.baseline_id
    before = await EvaluationRepository(session, scope).get(wanted) if wanted else None
    if before is None:
        raise InvalidRequest.field("baseline", _problem(baseline_id))
    for side in (now, before):
        _must_be_still(side)
    graded = await graded_of(session, scope, [now, before])
    found = await asyncio.to_thread(compare, graded[0], graded[1])
    return told_comparison(found, str(now.id), str(before.id))


def _problem(baseline_id: UUID | None) -> str:
    if baseline_id is None:
        return "is required: this evaluation has no baseline of its own"
    return "names no evaluation of this account"


def _must_be_still(row: Evaluation) -> None:
    if row.ended_at is None:
        raise EvaluationOpen.in_state(row.state)
