"""Attempts that were played elsewhere, and verdicts that came later. Who calls has checked the records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import func

from parley.engine.script.record import AttemptRecord
from parley.engine.script.shapes import Case
from parley.server.attempts.repository import AttemptRepository
from parley.server.attempts.scores import judge_cost, reason_of, score_of, workflow_cost
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Attempt
from parley.server.errors import NotFound
from parley.server.evaluations import results, scoring
from parley.server.evaluations.new import NewResult
from parley.server.evaluations.results import Kept
from parley.server.kit.ids import new_id


async def keep_finished(
    session: Session,
    scope: AccountScope,
    evaluation_id: UUID,
    cases: Mapping[str, Case],
    records: Sequence[AttemptRecord],
    *,
    awaits_grades: bool = False,
) -> Kept:
    """Take attempts of an evaluation that were played in the customer's own process, each once.

    The evaluation is one that `plans.keep_plan` wrote a plan for; finalize it afterwards. With
    `awaits_grades` the results of ungraded attempts stay open until `keep_grades`. Raises `NotFound`,
    `EvaluationClosed`.
    """
    new = [_result(record, cases[record.case_id], awaits_grades) for record in records]
    kept = await results.keep(session, scope, evaluation_id, new)
    of_place = {(record.case_id, record.repetition): record for record in records}
    attempts = AttemptRepository(session, scope)
    for result in kept.accepted:
        record = of_place[result.case_id, result.repetition]
        await attempts.add(_row(scope, evaluation_id, result.id, cases[record.case_id], record))
    return kept


async def keep_grades(
    session: Session,
    scope: AccountScope,
    evaluation_id: UUID,
    attempt_id: UUID,
    case: Case,
    record: AttemptRecord,
) -> None:
    """Put a record that was graded later in the place of the ungraded one, and end its open result.

    Raises `NotFound`.
    """
    row = await AttemptRepository(session, scope).get(attempt_id)
    if row is None or row.evaluation_id != evaluation_id:
        raise NotFound
    await scoring.score(session, scope, evaluation_id, row.result_id, score_of(record, case))
    for name, value in values_of(record).items():
        setattr(row, name, value)
    await session.flush()


def values_of(record: AttemptRecord) -> dict[str, Any]:
    """The columns of an attempt that its whole record fills."""
    return {
        "status": record.status,
        "reason": reason_of(record),
        "record": record.wire(),
        "duration_ms": record.duration_ms,
        "workflow_cost": workflow_cost(record),
        "judge_cost": judge_cost(record),
    }


def _result(record: AttemptRecord, case: Case, awaits_grades: bool) -> NewResult:
    is_open = awaits_grades and record.status == "ungraded"
    ended = None if is_open else score_of(record, case)
    return NewResult(id=new_id(), case_id=record.case_id, repetition=record.repetition, ended=ended)


def _row(
    scope: AccountScope, evaluation_id: UUID, result_id: UUID, case: Case, record: AttemptRecord
) -> Attempt:
    return Attempt(
        account_id=scope.account_id,
        id=new_id(),
        evaluation_id=evaluation_id,
        result_id=result_id,
        case_id=record.case_id,
        repetition=record.repetition,
        session_id=record.session_id,
        target="process",
        lock=case.lock,
        replay_safe=case.replay_safe,
        state="finished",
        finished_at=func.now(),
        **values_of(record),
    )
