"""Making attempts: one for a case and a repetition that are due, waiting for a worker."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from parley.engine.script.shapes import Case
from parley.server.attempts.repository import AttemptRepository
from parley.server.attempts.schemas import TargetKind
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Attempt
from parley.server.evaluations import results
from parley.server.evaluations.new import NewResult
from parley.server.kit.ids import new_id


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAttempt:
    """An attempt to be made."""

    evaluation_id: UUID
    case: Case
    repetition: int
    target: TargetKind


async def queue(session: Session, scope: AccountScope, new: NewAttempt) -> Attempt:
    """Make an attempt with its open result. Raises `NotFound`, `EvaluationClosed`.

    The caller has spent what it costs to begin one, and holds the account's row.
    """
    result = NewResult(id=new_id(), case_id=new.case.id, repetition=new.repetition)
    kept = await results.keep(session, scope, new.evaluation_id, [result])
    if not kept.accepted:
        raise RuntimeError(f"case {new.case.id}, repetition {new.repetition}, has begun before")
    return await AttemptRepository(session, scope).add(row_of(scope, new, result.id))


async def has_free_slot(session: Session, scope: AccountScope) -> bool:
    """Whether the account's plan lets one more be under way. The caller holds the account's row."""
    return await AttemptRepository(session, scope).free_slots(scope.account_id) > 0


async def cancel_attempts(session: Session, scope: AccountScope, evaluation_id: UUID) -> None:
    """Ask for the end of every open attempt of an evaluation; workers end them within seconds."""
    await AttemptRepository(session, scope).cancel(scope.account_id, evaluation_id)


def row_of(scope: AccountScope, new: NewAttempt, result_id: UUID) -> Attempt:
    """The row of an attempt that waits."""
    return Attempt(
        account_id=scope.account_id,
        id=new_id(),
        evaluation_id=new.evaluation_id,
        result_id=result_id,
        case_id=new.case.id,
        repetition=new.repetition,
        session_id=str(new_id()),
        target=new.target,
        lock=new.case.lock,
        replay_safe=new.case.replay_safe,
    )
