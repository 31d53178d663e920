"""Starts a run: under the account's lock, so that limits hold exactly."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables.runs import Run
from parley.server.definitions.snapshot import Snapshot
from parley.server.kit.strictjson import MAX_EXACT_INT
from parley.server.queue.jobs import RunQueue
from parley.server.quotas.gate import Wanted, enter, spend
from parley.server.quotas.window import QuotaStanding
from parley.server.runs.admit import admit
from parley.server.runs.repository import RunRepository

SEED_BOUND: Final = MAX_EXACT_INT + 1
"""Seeds that are drawn stay below it (product contract)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A run to be made. Without a seed one is drawn."""

    id: UUID
    test_id: UUID
    snapshot: Snapshot
    seed: int | None
    trigger: Literal["manual", "schedule", "suite"]
    external_user_id: str | None
    scheduled_for: datetime | None = None
    """The due time a scheduled run answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A run just made, and where the account's quota stands now."""

    run: Run
    quota: QuotaStanding


async def start(session: Session, scope: AccountScope, new: NewRun, queue: RunQueue) -> Started:
    """Make a run, for one unit of quota; it goes to a worker as soon as the account has a free slot.

    Raises `AccountSuspended`, `BalanceExhausted`, `QuotaExhausted` and the other refusals of
    `quotas.gate`. Let them roll the transaction back: then nothing was made, and nothing spent.
    """
    entrant = await enter(session, scope.account_id)
    quota = await spend(session, entrant, wanted_by(new.snapshot))
    run = await RunRepository(session, scope).add(_row(scope, new))
    admitted = await admit(session, scope.account_id)

    async def announce() -> None:
        await queue.announce(admitted)

    session.after_commit(announce)
    return Started(run=run, quota=quota)


def wanted_by(snapshot: Snapshot) -> Wanted:
    """What plans limit of an execution of `snapshot`."""
    return Wanted(
        resources=len(snapshot.fields["resources"]), is_integrated=snapshot.gateway.kind == "integrated"
    )


def _row(scope: AccountScope, new: NewRun) -> Run:
    return Run(
        account_id=scope.account_id,
        id=new.id,
        test_id=new.test_id,
        trigger=new.trigger,
        scheduled_for=new.scheduled_for,
        revision=new.snapshot.revision,
        seed=secrets.randbelow(SEED_BOUND) if new.seed is None else new.seed,
        external_user_id=new.external_user_id,
        definition=new.snapshot.model_dump(mode="json"),
    )
