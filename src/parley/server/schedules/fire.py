"""What becomes of a test that is due: a run, a recorded skip, or patience until there is quota."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from parley.server.agentic_tests.due import DueTest, Settled, hold_due, put_off, settle
from parley.server.agentic_tests.service import load_for_run
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables.runs import OPEN_STATES
from parley.server.definitions.cron import CronRefused, count_fires, next_fires
from parley.server.definitions.offer import Offer
from parley.server.errors import InvalidRequest, NotFound, QuotaExhausted, ServerError
from parley.server.kit.ids import new_id
from parley.server.queue.jobs import RunQueue
from parley.server.runs.start import NewRun, start

PATIENCE_S: Final = 5
"""Wait for quota when a refusal does not tell how long."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Starter:
    """What a run is started with."""

    offer: Offer
    queue: RunQueue


async def fire_due(session: Session, scope: AccountScope, starter: Starter, limit: int) -> int:
    """Settle up to `limit` due tests of an account within the transaction; how many were held.

    Without quota they all stay due, and are looked at again once there is some.
    """
    held = await hold_due(session, scope, limit)
    settled: list[Settled] = []
    wait_s = 0
    for due in held:
        try:
            settled.append(await _settled(session, scope, starter, due))
        except QuotaExhausted as refused:
            wait_s = refused.retry_after_s or PATIENCE_S
            break
    await settle(session, scope, settled)
    if wait_s:
        await put_off(session, scope, wait_s)
    _tell_missed(scope, held[: len(settled)])
    return len(held)


async def _settled(session: Session, scope: AccountScope, starter: Starter, due: DueTest) -> Settled:
    """Start the run of a due test, or find why there is none. Raises `QuotaExhausted`."""
    try:
        [next_run_at] = next_fires(due.cron, due.now, 1)
    except CronRefused as refused:
        # Stored under other rules, or by hand. It stops here, and whoever saves it is told what to mend.
        _log.error("schedule of test %s is stopped: it %s", due.id, refused)
        return Settled(test_id=due.id, next_run_at=None, reason="schedule_refused")
    if due.last_run_due_at is not None and due.last_run_due_at >= due.due_at:
        return Settled(test_id=due.id, next_run_at=next_run_at)
    reason = await _reason_against(session, scope, starter, due)
    if reason is not None:
        _log.info("test %s, due at %s, is left out: %s", due.id, due.due_at, reason)
    return Settled(test_id=due.id, next_run_at=next_run_at, reason=reason)


def _tell_missed(scope: AccountScope, settled: Sequence[DueTest]) -> None:
    """One run makes up for all due times that passed while nobody was there, or no quota."""
    missed = 0
    for due in settled:
        with contextlib.suppress(CronRefused):
            missed += count_fires(due.cron, due.due_at, due.now)
    if missed:
        _log.info("account %s: %d due times passed by without a look", scope.account_id, missed)


async def _reason_against(
    session: Session, scope: AccountScope, starter: Starter, due: DueTest
) -> str | None:
    """Start the run, and give None; else why there is none. Raises `QuotaExhausted`."""
    if due.last_run_state in OPEN_STATES:
        return "previous_run_open"
    try:
        # Whatever a refused start did is taken back, and the other tests of the transaction keep theirs.
        async with session.begin_nested():
            return await _start(session, scope, starter, due)
    except QuotaExhausted:
        raise
    except ServerError as refused:
        return refused.code
    except Exception:
        _log.exception("the scheduled start of test %s broke", due.id)
        return "internal_error"


async def _start(session: Session, scope: AccountScope, starter: Starter, due: DueTest) -> str | None:
    try:
        basis = await load_for_run(session, scope, starter.offer, due.id)
    except (NotFound, InvalidRequest):
        return "gateway_gone"
    new = NewRun(
        id=new_id(),
        test_id=basis.test_id,
        snapshot=basis.snapshot,
        seed=basis.seed,
        trigger="schedule",
        external_user_id=basis.external_user_id,
        scheduled_for=due.due_at,
    )
    await start(session, scope, new, starter.queue)
    return None
