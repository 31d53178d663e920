"""What becomes of a suite that is due: an evaluation, or a recorded skip."""

from __future__ import annotations

import logging
from uuid import UUID

from parley.server.db.away import is_away
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.definitions.cron import CronRefused, next_fires
from parley.server.definitions.offer import Offer
from parley.server.errors import DatabaseAway, ServerError
from parley.server.kit.ids import new_id
from parley.server.suites.begin import begin_evaluation
from parley.server.suites.repository import SuiteRepository
from parley.server.suites.schemas import StartEvaluation

PREVIOUS_OPEN = "previous_evaluation_open"

_log = logging.getLogger(__name__)


async def fire(session: Session, scope: AccountScope, offer: Offer, suite_id: UUID) -> bool:
    """Begin the evaluation that a suite is due for, within the transaction. False if somebody else does.

    One evaluation makes up for all due times that passed while nobody was there.
    """
    suites = SuiteRepository(session, scope)
    due = await suites.hold_due(scope.account_id, suite_id)
    if due is None:
        return False
    try:
        [next_run_at] = next_fires(due.cron, due.now, 1)
    except CronRefused as refused:
        # Stored under other rules, or by hand. It stops here, and whoever saves it is told what to mend.
        _log.error("schedule of suite %s is stopped: it %s", suite_id, refused)
        await suites.settle(scope.account_id, suite_id, None, "schedule_refused")
        return True
    reason = PREVIOUS_OPEN if due.is_open else await _reason_against(session, scope, offer, suite_id)
    if reason is not None:
        _log.info("suite %s is left out: %s", suite_id, reason)
    await suites.settle(scope.account_id, suite_id, next_run_at, reason)
    return True


async def _reason_against(session: Session, scope: AccountScope, offer: Offer, suite_id: UUID) -> str | None:
    """Begin the evaluation, and give None; else why there is none."""
    try:
        # Whatever a refused start did is taken back.
        async with session.begin_nested():
            await begin_evaluation(
                session,
                scope,
                offer,
                suite_id,
                StartEvaluation(),
                evaluation_id=new_id(),
                run_source="schedule",
            )
    except DatabaseAway:
        raise
    except ServerError as refused:
        return refused.code
    except Exception as fault:
        if is_away(fault):
            raise
        _log.exception("the scheduled start of suite %s broke", suite_id)
        return "internal_error"
    return None
