"""What apps may have been asked to play: written before they are asked, so that nothing is asked twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from parley.server.attempts.keep import Held, LeaseLost
from parley.server.db.database import Database
from parley.server.kit.ids import new_id

_READ: Final = """
SELECT instance, admitted_at IS NOT NULL AS is_admitted FROM remote_admissions
 WHERE account_id = $1 AND attempt_id = $2
"""

# Only who holds the attempt writes.
_WRITE: Final = """
INSERT INTO remote_admissions (account_id, id, attempt_id, instance)
SELECT account_id, $4, id, $5 FROM attempts WHERE account_id = $1 AND id = $2 AND lease_token = $3
ON CONFLICT (account_id, attempt_id) DO UPDATE SET instance = excluded.instance
RETURNING id
"""

_ADMITTED: Final = """
UPDATE remote_admissions SET admitted_at = now() WHERE account_id = $1 AND attempt_id = $2
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The memory that the app had when it was asked, and whether it is known to have said yes."""

    instance: str
    is_admitted: bool


async def read(database: Database, held: Held) -> Admission | None:
    """What was written; None if the app was never asked."""
    async with database.raw() as connection:
        row = await connection.fetchrow(_READ, held.account_id, held.attempt_id)
    return None if row is None else Admission(instance=row["instance"], is_admitted=row["is_admitted"])


async def write(database: Database, held: Held, instance: str) -> None:
    """Note that the app is going to be asked. Raises `LeaseLost`."""
    async with database.raw() as connection:
        if await connection.fetchrow(_WRITE, *held.key, new_id(), instance) is None:
            raise LeaseLost


async def admitted(database: Database, held: Held) -> None:
    """Note that the app said yes."""
    async with database.raw() as connection:
        await connection.execute(_ADMITTED, held.account_id, held.attempt_id)
