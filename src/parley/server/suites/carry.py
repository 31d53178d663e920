"""Carrying an evaluation on: one step at a time, each in a transaction of its own."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from parley.engine.script.shapes import Case
from parley.server.agentic_tests.service import load_for_run
from parley.server.attempts.begin import NewAttempt, cancel_attempts, has_free_slot, queue
from parley.server.attempts.plans import is_integrated_target, target_of
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.definitions.offer import Offer
from parley.server.errors import DatabaseAway, EvaluationClosed, NotFound, QuotaExhausted, ServerError
from parley.server.evaluations import results
from parley.server.evaluations.finish import finalize
from parley.server.evaluations.new import NewResult, Score, skipped
from parley.server.kit.ids import new_id
from parley.server.queue.jobs import RunQueue
from parley.server.queue.pokes import Poke
from parley.server.quotas.gate import Wanted, enter, spend
from parley.server.runs.cancel import Canceller
from parley.server.runs.start import NewRun, start
from parley.server.suites.freeze import thawed
from parley.server.suites.repository import Key, Owed, ProgressRepository
from parley.server.suites.seeds import seed_of
from parley.server.suites.steps import next_step

MOST_SKIPPED: Final = 500
"""Results written by one statement."""
BROKEN_S: Final = 10.0
"""Wait after a step that broke."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What evaluations are carried out with. `look_every_s`: how often one that waits is looked at.

    `attempts` wakes those who play scripted cases.
    """

    offer: Offer
    queue: RunQueue
    canceller: Canceller
    attempts: Poke
    look_every_s: float


async def carry_on(session: Session, means: Means, key: Key) -> bool:
    """Take one step of an evaluation; whether another may follow at once. False if somebody else is at it."""
    scope = AccountScope(key.account_id)
    progress = ProgressRepository(session, scope)
    if not await progress.hold(key):
        return False
    now = await progress.standing(key)
    match next_step(now):
        case "start":
            return await _start_next(session, scope, means, key, now.seed)
        case "stop":
            await _skip_rest(session, scope, key)
            return True
        case "close":
            await finalize(session, scope, key.evaluation_id)
            return True
        case "wait":
            await progress.put_off(key, means.look_every_s)
        case "cancel":
            await _cancel_runs(session, scope, means, key)
            await progress.put_off(key, means.look_every_s)
        case "let_go":
            await progress.let_go(key)
    return False


async def put_off_broken(session: Session, key: Key) -> None:
    """Leave an evaluation whose step broke for later."""
    await ProgressRepository(session, AccountScope(key.account_id)).put_off(key, BROKEN_S)


async def _start_next(session: Session, scope: AccountScope, means: Means, key: Key, seed: int) -> bool:
    """Start the run of the next case, or skip the case if it cannot be started; False without quota."""
    progress = ProgressRepository(session, scope)
    found = await progress.owed(key, 1, locked_too=False)
    if not found:
        await progress.put_off(key, means.look_every_s)  # locks are taken; those who hold them will end
        return False
    [owed] = found
    try:
        # What a refused start did is taken back; the refusal is kept as the case's result.
        async with session.begin_nested():
            has_begun = await _start(session, scope, means, key, owed, seed)
    except QuotaExhausted as refused:
        await progress.put_off(key, refused.retry_after_s or means.look_every_s)
        return False
    except DatabaseAway:
        raise
    except EvaluationClosed:
        return True  # it ended this moment: the next step sees it
    except ServerError as refused:
        _log.info("evaluation %s: case %s is skipped: %s", key.evaluation_id, owed.case_id, refused.code)
        await _keep(session, scope, key, [owed], _refused(refused))
        return True
    if not has_begun:
        await progress.put_off(key, means.look_every_s)
    return has_begun


async def _start(
    session: Session, scope: AccountScope, means: Means, key: Key, owed: Owed, seed: int
) -> bool:
    """Begin a case; False without a free slot for one that does not wait for it by itself."""
    kind, content = await ProgressRepository(session, scope).case(key, owed.case_id)
    if kind == "scripted":
        return await _start_attempt(session, scope, means, key, owed, Case.of_wire(content))
    await _start_run(session, scope, means, key, owed, seed, content)
    return True


async def _start_attempt(
    session: Session, scope: AccountScope, means: Means, key: Key, owed: Owed, case: Case
) -> bool:
    entrant = await enter(session, scope.account_id)
    if not await has_free_slot(session, scope):
        return False
    target = await target_of(session, scope, key.evaluation_id)
    await spend(session, entrant, Wanted(resources=0, is_integrated=is_integrated_target(target)))
    new = NewAttempt(
        evaluation_id=key.evaluation_id,
        case=case,
        repetition=owed.repetition,
        target=target["asked"]["type"],
    )
    await queue(session, scope, new)
    session.after_commit(means.attempts.give)
    return True


async def _start_run(
    session: Session,
    scope: AccountScope,
    means: Means,
    key: Key,
    owed: Owed,
    seed: int,
    content: Mapping[str, Any],
) -> None:
    test_id, external_user_id, snapshot = thawed(content)
    # Holds the test against its deletion, and sees that it can still be played.
    await load_for_run(session, scope, means.offer, test_id)
    new = NewRun(
        id=new_id(),
        test_id=test_id,
        snapshot=snapshot,
        seed=seed_of(seed, owed.case_id, owed.repetition),
        trigger="suite",
        external_user_id=external_user_id,
    )
    await start(session, scope, new, means.queue)
    result = NewResult(id=new_id(), case_id=owed.case_id, repetition=owed.repetition, run_id=new.id)
    kept = await results.keep(session, scope, key.evaluation_id, [result])
    if not kept.accepted:
        raise RuntimeError(f"case {owed.case_id}, repetition {owed.repetition}, has begun before")


async def _skip_rest(session: Session, scope: AccountScope, key: Key) -> None:
    """At the budget: what has not begun is skipped, what runs goes on to its end."""
    why = skipped("budget_spent", "The budget was spent before this case was begun.")
    while owed := await ProgressRepository(session, scope).owed(key, MOST_SKIPPED, locked_too=True):
        if not await _keep(session, scope, key, owed, why):
            return
    await finalize(session, scope, key.evaluation_id)


async def _keep(session: Session, scope: AccountScope, key: Key, owed: Sequence[Owed], ended: Score) -> bool:
    """Write results of cases that were not begun. False if the evaluation has ended this moment."""
    new = [
        NewResult(id=new_id(), case_id=one.case_id, repetition=one.repetition, ended=ended) for one in owed
    ]
    try:
        await results.keep(session, scope, key.evaluation_id, new)
    except EvaluationClosed:
        return False
    return True


async def _cancel_runs(session: Session, scope: AccountScope, means: Means, key: Key) -> None:
    for test_id, run_id in await ProgressRepository(session, scope).open_runs(key):
        with contextlib.suppress(NotFound):  # the test was deleted, which cancels its runs
            await means.canceller.cancel(session, scope, test_id, run_id)
    await cancel_attempts(session, scope, key.evaluation_id)


def _refused(refused: ServerError) -> Score:
    if isinstance(refused, NotFound):
        return skipped("test_deleted", "The test was deleted before this case was begun.")
    return skipped(refused.code, refused.text)
