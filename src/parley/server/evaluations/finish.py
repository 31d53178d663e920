"""Ends of evaluations. Each state is left once: whoever moves one holds its row."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

from sqlalchemy import func

from parley.engine.stats.results import Statistics, statistics_of
from parley.server.db.database import Database
from parley.server.db.repository import AccountScope, SystemScope
from parley.server.db.session import Session
from parley.server.db.tables import Evaluation
from parley.server.db.tables.evaluations import OPEN_STATES
from parley.server.evaluations import figures
from parley.server.evaluations.load import results_of
from parley.server.evaluations.new import skipped
from parley.server.evaluations.repository import EvaluationRepository, ResultRepository
from parley.server.evaluations.results import take_hold, values_of
from parley.server.kit.ticks import every

Closed: TypeAlias = Literal["failed", "expired", "cancelled"]

_MOST_EXPIRED = 100
"""Evaluations that one tick expires."""


async def finalize(session: Session, scope: AccountScope, evaluation_id: UUID) -> Evaluation:
    """No more results come. The evaluation is `completed`, or `scoring` until the open ones are scored.

    Repeatable; one that has ended stays as it is. Raises `NotFound`.
    """
    evaluation = await take_hold(session, scope, evaluation_id)
    if evaluation.state == "in_progress":
        evaluation.state = "scoring"
        await session.flush()
    await complete_if_scored(session, scope, evaluation)
    return evaluation


async def complete_if_scored(session: Session, scope: AccountScope, evaluation: Evaluation) -> None:
    """Complete a held evaluation that waited for scores and has them all; its baseline is fixed now."""
    results = ResultRepository(session, scope)
    if evaluation.state != "scoring" or await results.count_open(evaluation.id):
        return
    expected = evaluation.expected
    found = await results_of(session, scope, evaluation.id)
    statistics: Statistics = await asyncio.to_thread(statistics_of, found, expected)
    moment = await _this_moment(session)
    evaluation.state = "completed"
    evaluation.rated_count = statistics.counts.rated
    evaluation.statistics = figures.told(statistics).model_dump(mode="json")
    evaluation.completed_at = evaluation.ended_at = moment
    await session.flush()
    before = await EvaluationRepository(session, scope).newest_before(evaluation, 1)
    evaluation.baseline_id = before[0].id if before else None
    await session.flush()


async def close(
    session: Session, scope: AccountScope, evaluation_id: UUID, state: Closed, code: str, message: str
) -> tuple[Evaluation, bool]:
    """End an open evaluation without a verdict; its open results are skipped for the same reason.

    With False it had ended before and is unchanged. Raises `NotFound`.
    """
    evaluation = await take_hold(session, scope, evaluation_id)
    if evaluation.state not in OPEN_STATES:
        return evaluation, False
    await _close(session, scope, evaluation, state, code, message)
    return evaluation, True


async def _close(
    session: Session, scope: AccountScope, evaluation: Evaluation, state: Closed, code: str, message: str
) -> None:
    await ResultRepository(session, scope).end_open(evaluation.id, values_of(skipped(code, message)))
    moment = await _this_moment(session)
    evaluation.state, evaluation.ended_at = state, moment
    evaluation.error = {"code": code, "message": message}
    await session.flush()


async def _this_moment(session: Session) -> datetime:
    """The database's clock now; the beginning of the transaction may lie before another's end."""
    moment: datetime = (await session.execute(func.clock_timestamp().select())).scalar_one()
    return moment


class Expiry:
    """A tick of every worker process: evaluations that stayed open too long end as `expired`."""

    def __init__(self, database: Database, tick_s: float) -> None:
        self._database = database
        self._tick_s = tick_s

    async def run(self) -> None:
        """Tick until cancelled."""
        await every(self._tick_s, "expiry of evaluations", self.once)

    async def once(self) -> int:
        """Expire what is due; how many. Many processes may tick at once."""
        system = SystemScope("evaluations expire whosever they are")
        async with self._database.session() as session:
            due = await EvaluationRepository(session, system).expired(_MOST_EXPIRED)
            for evaluation in due:
                scope = AccountScope(evaluation.account_id)
                await _close(session, scope, evaluation, "expired", "expired", "It was open for too long.")
            return len(due)
