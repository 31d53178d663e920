"""Runs that end, without a conversation: through the statement that ends every run."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID, uuid4

from parley.engine.events import Ended, Failure, Verdict
from parley.engine.state import State
from parley.server.db.database import Database
from parley.server.db.tables.runs import Run
from parley.server.journal.keep import Lease
from parley.server.kit.ids import new_id
from parley.server.runs.finish import finish

ENDS = {
    "f": Ended(
        at_ms=0,
        failure=Failure(
            code="gateway_inference", message="The gateway answered 502.", scope="gateway_inference", turn=1
        ),
    ),
    "c": Ended(at_ms=0, cancelled=True),
    "s": Ended(
        at_ms=0,
        verdict=Verdict(
            outcome="success",
            reason="baseline_reached",
            state="success",
            turn_number=1,
            score=Decimal("0.9"),
            conversation_delta=Decimal("0.9"),
            loss_streak=0,
        ),
    ),
    "l": Ended(
        at_ms=0,
        verdict=Verdict(
            outcome="loss",
            reason="loss_threshold_persisted",
            state="loss",
            turn_number=2,
            score=Decimal("0.1"),
            conversation_delta=Decimal("0.1"),
            loss_streak=2,
        ),
    ),
}
"""By letter: failed, cancelled, success, loss."""


async def make_running(database: Database, account_id: UUID, test_id: UUID) -> Lease:
    """A run that a worker holds."""
    token = uuid4()
    run = Run(
        account_id=account_id,
        id=new_id(),
        test_id=test_id,
        state="running",
        trigger="manual",
        revision="r1",
        seed=1,
        definition={"fields": {"name": "Refund"}},
        lease_token=token,
    )
    async with database.session() as session:
        session.add(run)
    return Lease(account_id=account_id, run_id=run.id, token=token, seconds=30)


async def end_run(database: Database, account_id: UUID, test_id: UUID, letter: str) -> UUID:
    """A run of the test that has ended in this way; its id."""
    lease = await make_running(database, account_id, test_id)
    await finish(database, lease, State(), ENDS[letter])
    return lease.run_id
