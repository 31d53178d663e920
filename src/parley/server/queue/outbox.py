"""The outbox: what happened is written with it, and reacted to once, in order, by whoever comes first.

Who reacts first holds what a group is about (for the end of a run: the row of its test), then takes the
group's rows and reacts, all in one transaction. A reaction that breaks leaves the rows where they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.db.tables import OutboxRow

RUN_ENDED: Final = "run_ended"
"""The group is the test, the subject the run."""
GATE_FAILED: Final = "gate_failed"
"""The group is the evaluation, the subject the record of its first red gate."""
LONGEST_WAIT_S: Final = 600
"""Between two tries of a reaction that breaks."""

# In an order of chance: processes at work at once take different groups.
_GROUPS = text("""
SELECT account_id, group_id FROM outbox WHERE kind = :kind AND due_at <= now()
 GROUP BY account_id, group_id ORDER BY random() LIMIT :limit
""")

_TAKE = text("""
WITH taken AS (
    DELETE FROM outbox WHERE account_id = :account_id AND kind = :kind AND group_id = :group_id
    RETURNING subject_id, created_at
)
SELECT subject_id FROM taken ORDER BY created_at, subject_id
""")

_PUT_OFF = text("""
UPDATE outbox SET tries = tries + 1,
       due_at = now() + make_interval(secs => least(power(2, least(tries, 20)), :longest_s))
 WHERE account_id = :account_id AND kind = :kind AND group_id = :group_id
""")


def add(session: Session, account_id: UUID, kind: str, *, group_id: UUID, subject_id: UUID) -> None:
    """Note that something happened, within its transaction."""
    session.add(OutboxRow(account_id=account_id, kind=kind, group_id=group_id, subject_id=subject_id))


async def due_groups(session: Session, kind: str, limit: int) -> Sequence[tuple[UUID, UUID]]:
    """Up to `limit` groups of all accounts that want a reaction: account and group."""
    rows = await session.execute(_GROUPS, {"kind": kind, "limit": limit})
    return [(row.account_id, row.group_id) for row in rows]


async def take(session: Session, scope: AccountScope, kind: str, group_id: UUID) -> Sequence[UUID]:
    """The subjects of a group, in the order in which it happened to them; gone once this is committed."""
    values = {"account_id": scope.account_id, "kind": kind, "group_id": group_id}
    rows = await session.execute(_TAKE, values)
    return [row.subject_id for row in rows]


async def put_off(session: Session, scope: AccountScope, kind: str, group_id: UUID) -> None:
    """Leave a group whose reaction broke for later: after 1 s, 2 s, 4 s and so on."""
    values = {"account_id": scope.account_id, "kind": kind, "group_id": group_id}
    await session.execute(_PUT_OFF, values | {"longest_s": float(LONGEST_WAIT_S)})
