"""What follows for evaluations from the end of a run: a case result, once."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.evaluations import scoring
from parley.server.suites.repository import ProgressRepository
from parley.server.suites.scores import score_of


async def settle(session: Session, scope: AccountScope, run_ids: Sequence[UUID]) -> None:
    """Score the cases that these runs carried out, within the caller's transaction.

    Safe to repeat: a result that has ended stays as it is, that of a cancelled evaluation too.
    """
    if not run_ids:
        return
    ends = await ProgressRepository(session, scope).ends(scope.account_id, run_ids)
    for end in ends:
        await scoring.score(session, scope, end.evaluation_id, end.result_id, score_of(end))
