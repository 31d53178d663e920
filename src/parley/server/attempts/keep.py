"""Writing what happens to an attempt: each one statement, fenced by its lease.

The statement that charges reaches over the tables of other rooms (accounts, ledger) on purpose, as the one
for the entries of runs does: charge, total and balance are true together or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from parley.engine.chat.pieces import Usage
from parley.engine.script.record import AttemptRecord
from parley.server.attempts.schemas import Contact
from parley.server.db.database import Database
from parley.server.journal.keep import patiently
from parley.server.kit import strictjson

# The account's row first, and once (see `journal.keep`).
_CHARGE: Final = """
WITH account AS (
    UPDATE accounts SET balance = accounts.balance - $5 FROM attempts
     WHERE accounts.id = $1 AND attempts.account_id = $1 AND attempts.id = $2
       AND attempts.lease_token = $3 AND attempts.last_charge < $4
    RETURNING accounts.id, accounts.balance, accounts.status, accounts.plan
), attempt AS (
    UPDATE attempts SET last_charge = $4, charged = charged + $5, updated_at = now() FROM account
     WHERE attempts.account_id = account.id AND attempts.id = $2
       AND attempts.lease_token = $3 AND attempts.last_charge < $4
    RETURNING attempts.account_id, attempts.id
), charge AS (
    INSERT INTO ledger (account_id, source, source_id, seq, amount, role, llm,
                        prompt_tokens, cached_prompt_tokens, completion_tokens, estimated)
    SELECT account_id, 'evaluation', id, $4, -$5, $6, $7, $8, $9, $10, $11 FROM attempt
)
SELECT account.balance, account.status = 'active' AS is_active, plans.metered,
       1 / (SELECT count(*) FROM attempt) AS held
  FROM account JOIN plans ON plans.code = account.plan
"""

_CHARGED: Final = """
SELECT accounts.balance, accounts.status = 'active' AS is_active, plans.metered
  FROM attempts JOIN accounts ON accounts.id = attempts.account_id JOIN plans ON plans.code = accounts.plan
 WHERE attempts.account_id = $1 AND attempts.id = $2 AND attempts.lease_token = $3
   AND attempts.last_charge >= $4
"""

_KEEP: Final = """
UPDATE attempts SET record = coalesce($4::jsonb, record), cursor = greatest(cursor, coalesce($5, cursor)),
                    contact = $6, updated_at = now(),
                    last_seen_at = CASE WHEN $7 THEN now() ELSE last_seen_at END
 WHERE account_id = $1 AND id = $2 AND lease_token = $3
RETURNING id
"""

_RENEW: Final = """
UPDATE attempts SET lease_until = now() + make_interval(secs => $4)
 WHERE account_id = $1 AND id = $2 AND lease_token = $3
RETURNING id
"""

_CANCELLED: Final = """
SELECT id FROM attempts WHERE id = ANY($1::uuid[]) AND cancel_requested_at IS NOT NULL
"""

_RELEASE: Final = """
UPDATE attempts SET lease_token = NULL, lease_until = NULL, takes = greatest(takes - 1, 0), updated_at = now()
 WHERE account_id = $1 AND id = $2 AND lease_token = $3
"""


class LeaseLost(Exception):
    """Another worker has the attempt: nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """An attempt that this process holds under `token`."""

    account_id: UUID
    evaluation_id: UUID
    result_id: UUID
    attempt_id: UUID
    token: UUID

    @property
    def key(self) -> tuple[UUID, UUID, UUID]:
        """As statements take it."""
        return self.account_id, self.attempt_id, self.token


@dataclass(frozen=True, slots=True, kw_only=True)
class Funds:
    """How an account stands."""

    balance: Decimal
    is_active: bool
    metered: bool

    @property
    def refusal(self) -> tuple[str, str] | None:
        """Code and message of why nothing more may be asked for; None if it may."""
        if not self.is_active:
            return "account_suspended", "The account was suspended."
        if self.metered and self.balance <= 0:
            return "balance_exhausted", "The account's balance is used up."
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What one inference costs: US dollars, never negative, who used it and what.

    `name` stands for the llm where the account knows it by another than its provider's.
    """

    amount: Decimal
    role: str
    usage: Usage
    name: str | None = None


async def charge(database: Database, held: Held, seq: int, one: Charge) -> Funds:
    """Charge an inference, once for each `seq`; how the account stands then. Raises `LeaseLost`."""
    values = (
        *held.key,
        seq,
        one.amount,
        one.role,
        one.name or one.usage.model,
        one.usage.prompt_tokens,
        one.usage.cached_prompt_tokens,
        one.usage.completion_tokens,
        one.usage.estimated,
    )

    async def write() -> Any:
        async with database.raw() as connection:
            # The answer to a first write may have been lost; then this writes nothing, and looks.
            row = await connection.fetchrow(_CHARGE, *values)
            return row or await connection.fetchrow(_CHARGED, *held.key, seq)

    row = await patiently(write)
    if row is None:
        raise LeaseLost
    return Funds(balance=row["balance"], is_active=row["is_active"], metered=row["metered"])


async def keep(
    database: Database,
    held: Held,
    record: AttemptRecord | None,
    *,
    cursor: int | None = None,
    contact: Contact | None = None,
    was_heard: bool = False,
) -> None:
    """Keep what there is of an attempt so far. Raises `LeaseLost`."""
    written = None if record is None else strictjson.write(record.wire())

    async def write() -> Any:
        async with database.raw() as connection:
            return await connection.fetchrow(_KEEP, *held.key, written, cursor, contact, was_heard)

    if await patiently(write) is None:
        raise LeaseLost


async def renew(database: Database, held: Sequence[Held], lease_s: float) -> set[UUID]:
    """Hold on to attempts: the ids of those that are still held."""
    lines = sorted((*one.key, lease_s) for one in held)
    async with database.raw() as connection:
        rows = await connection.fetchmany(_RENEW, lines) if lines else []
    return {row["id"] for row in rows}


async def cancelled_among(database: Database, attempt_ids: Sequence[UUID]) -> set[UUID]:
    """Which of these attempts somebody wants to end."""
    async with database.raw() as connection:
        rows = await connection.fetch(_CANCELLED, list(attempt_ids))
    return {row["id"] for row in rows}


async def release(database: Database, held: Held) -> None:
    """Leave an attempt to whoever comes next, at once; this hold does not count."""
    async with database.raw() as connection:
        await connection.execute(_RELEASE, *held.key)
