"""Starts a run: under the account's lock, so that limits hold exactly."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import Plan
from parley.server.db.tables.runs import Run
from parley.server.definitions.snapshot import Snapshot
from parley.server.errors import AccountSuspended, BalanceExhausted, NotFound
from parley.server.queue.jobs import RunQueue
from parley.server.runs.admit import admit, lock_account
from parley.server.runs.repository import RunRepository

SEED_BOUND: Final = 2**53
"""Seeds stay below it, so that JavaScript reads them exactly (product contract)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A run to be made. Without a seed one is drawn."""

    id: UUID
    test_id: UUID
    snapshot: Snapshot
    seed: int | None
    trigger: Literal["manual", "schedule", "suite"]
    external_user_id: str | None


async def start(session: Session, scope: AccountScope, new: NewRun, queue: RunQueue) -> Run:
    """Make a run; it goes to a worker as soon as the account has a free slot.

    Raises `BalanceExhausted`, `AccountSuspended`; then nothing was made.
    """
    account = await lock_account(session, scope.account_id)
    if account is None:
        raise NotFound
    if account.status != "active":
        raise AccountSuspended
    plan = await session.get_one(Plan, account.plan)
    if plan.metered and account.balance <= 0:
        raise BalanceExhausted
    run = await RunRepository(session, scope).add(
        Run(
            account_id=scope.account_id,
            id=new.id,
            test_id=new.test_id,
            trigger=new.trigger,
            revision=new.snapshot.revision,
            seed=secrets.randbelow(SEED_BOUND) if new.seed is None else new.seed,
            external_user_id=new.external_user_id,
            definition=new.snapshot.model_dump(mode="json"),
        )
    )
    admitted = await admit(session, scope.account_id)

    async def announce() -> None:
        await queue.announce(admitted)

    session.after_commit(announce)
    return run
