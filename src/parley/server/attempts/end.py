"""The end of an attempt: its record, its case result, and its evaluation if it waited for this one alone."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from sqlalchemy import func, update

from parley.engine.ports import Clock
from parley.engine.script.draft import AttemptDraft, AttemptPlan
from parley.engine.script.record import AttemptRecord, ErrorRecord
from parley.engine.script.standing import attempt_status
from parley.server.attempts.finished import values_of
from parley.server.attempts.keep import Held, LeaseLost
from parley.server.attempts.scores import score_of
from parley.server.db.database import Database
from parley.server.db.repository import AccountScope
from parley.server.db.tables import Attempt
from parley.server.evaluations import scoring
from parley.server.evaluations.results import take_hold

WORKER_LOST: Final = "worker_lost"
WORKER_STOPPED: Final = "worker_stopped"
WORKER_BROKE: Final = "worker_broke"

_TOLD: Final = {
    WORKER_LOST: "The worker that played this attempt was lost. It was not begun again, since its case is "
    "not replay safe.",
    WORKER_STOPPED: "The worker that played this attempt was stopped before its end.",
    WORKER_BROKE: "The service broke while it played this attempt.",
}


async def end(database: Database, held: Held, plan: AttemptPlan, record: AttemptRecord) -> None:
    """Write the whole record and what it came to, once. Raises `LeaseLost`, with nothing written."""
    scope = AccountScope(held.account_id)
    async with database.session() as session:
        # The evaluation's row comes before the attempt's, as wherever both are written.
        await take_hold(session, scope, held.evaluation_id)
        finishing = (
            update(Attempt)
            .where(
                Attempt.account_id == held.account_id,
                Attempt.id == held.attempt_id,
                Attempt.lease_token == held.token,
            )
            .values(
                state="finished",
                lease_token=None,
                lease_until=None,
                contact=None,
                finished_at=func.now(),
                **values_of(record),
            )
            .returning(Attempt.charged)
        )
        charged: Decimal | None = await session.scalar(finishing)
        if charged is None:
            raise LeaseLost
        score = score_of(record, plan.case, charged)
        await scoring.score(session, scope, held.evaluation_id, held.result_id, score)


def not_begun(plan: AttemptPlan, clock: Clock) -> AttemptRecord:
    """The record of an attempt that was cancelled before it began."""
    return _draft(plan, clock, is_cancelled=True).record(clock.monotonic_s())


def refused(plan: AttemptPlan, clock: Clock, error: ErrorRecord) -> AttemptRecord:
    """The record of an attempt that could not even begin."""
    draft = _draft(plan, clock)
    draft.errors.append(error)
    return draft.record(clock.monotonic_s())


def cut_short(plan: AttemptPlan, clock: Clock, kept: AttemptRecord | None, code: str) -> AttemptRecord:
    """What was kept of an attempt, ended by an error of ours; nothing of its evidence is lost."""
    so_far = kept or _draft(plan, clock).record(clock.monotonic_s())
    error = ErrorRecord(phase="execute", code=code, message=_TOLD[code])
    errors = (*so_far.errors, error)
    status = attempt_status(so_far.steps, errors, so_far.verification, is_cancelled=False)
    took_ms = max(so_far.duration_ms, clock.now_ms() - so_far.started_at)
    changed: dict[str, Any] = {"errors": errors, "status": status, "duration_ms": took_ms}
    return so_far.model_copy(update=changed)


def _draft(plan: AttemptPlan, clock: Clock, *, is_cancelled: bool = False) -> AttemptDraft:
    return AttemptDraft(
        plan=plan, started_at=clock.now_ms(), began_s=clock.monotonic_s(), is_cancelled=is_cancelled
    )
