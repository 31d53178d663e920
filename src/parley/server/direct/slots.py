"""Slots of direct evaluations: an open row is a slot. Leases close the rows of processes that are gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from parley.server.db.database import Database
from parley.server.db.raw import RawConnection
from parley.server.db.repository import AccountScope
from parley.server.errors import ConcurrencyExhausted
from parley.server.kit.ids import new_id

RETRY_AFTER_S: Final = 5
"""What a caller without a slot is told to wait; nobody knows when one comes free (our choice)."""

_TAKE = """
INSERT INTO direct_calls (account_id, id, lease_until)
SELECT $1, $2, clock_timestamp() + make_interval(secs => $4)
 WHERE (SELECT count(*) FROM direct_calls WHERE account_id = $1 AND state = 'running') < $3::bigint
RETURNING id
"""

_RENEW = """
UPDATE direct_calls SET lease_until = now() + make_interval(secs => $3)
 WHERE account_id = $1 AND id = $2 AND state = 'running'
RETURNING id
"""

_CLOSE_LAPSED = """
UPDATE direct_calls SET state = 'ended', error_code = 'worker_lost', finished_at = now(), updated_at = now()
 WHERE state = 'running' AND lease_until < now() - make_interval(secs => $1)
"""


async def take_slot(connection: RawConnection, scope: AccountScope, slots: int, lease_s: float) -> UUID:
    """Take one of the account's direct slots; the id of its row.

    The account's row is locked by the transaction that is open on `connection`.

    Raises `ConcurrencyExhausted`.
    """
    call_id = new_id()
    if await connection.fetchval(_TAKE, scope.account_id, call_id, slots, lease_s) is None:
        raise ConcurrencyExhausted(details={"limit": slots}, retry_after_s=RETRY_AFTER_S)
    return call_id


async def renew_slots(database: Database, held: Sequence[tuple[UUID, UUID]], lease_s: float) -> set[UUID]:
    """Renew the leases of these (account, call) in one transaction; the ids of those that are still open.

    In the order in which groups of settlements lock calls, so that neither waits for the other.
    """
    leases = [(account_id, call_id, lease_s) for account_id, call_id in sorted(held)]
    async with database.raw() as connection:
        rows = await connection.fetchmany(_RENEW, leases)
    return {row["id"] for row in rows}


async def close_lapsed(database: Database, patience_s: float) -> None:
    """Close every row whose lease ended `patience_s` ago: its process is gone.

    The patience lets a process that was away for a while renew its own rows first.
    """
    async with database.raw() as connection:
        await connection.execute(_CLOSE_LAPSED, patience_s)
