"""Keeps one entry: one statement, fenced by the lease of the run. Entries that wait go in one transaction.

The statement reaches over the tables of other rooms (runs, ledger, accounts) on purpose: entry, charge,
totals and balance are true together or not at all, and three statements in a transaction cost four
times as much. Nothing else writes across rooms.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from operator import attrgetter
from typing import TypeVar
from uuid import UUID

import asyncpg

from parley.engine.chat.pieces import Usage
from parley.engine.events import ENTRY, Entry, Opinion
from parley.server.db.database import Database
from parley.server.db.raw import RawConnection
from parley.server.errors import DatabaseAway
from parley.server.journal.groups import Groups

FIRST_WAIT_S = 0.1
LONGEST_WAIT_S = 2.0

T = TypeVar("T")


async def patiently(work: Callable[[], Awaitable[T]]) -> T:
    """The result of `work`, which is done again until the database is there."""
    wait_s = FIRST_WAIT_S
    while True:
        try:
            return await work()
        except DatabaseAway:
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 2, LONGEST_WAIT_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right of one worker to write one run's entries."""

    account_id: UUID
    run_id: UUID
    token: UUID
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What an entry costs: the amount (USD, never negative), who used it and what."""

    amount: Decimal
    role: str
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How the account and the run stood when the entry was kept."""

    balance: Decimal
    account_active: bool
    metered: bool
    cancel_requested: bool


class LeaseLost(Exception):
    """Another worker holds the run, or it has ended: nothing was written."""


# The account's row is locked first, and touched once: a statement that locks a row and updates it in
# another part of itself starts from the same old version twice, and two of those can lock each other out.
_PAID = """
WITH account AS (
    UPDATE accounts SET balance = accounts.balance - $8 FROM runs
     WHERE accounts.id = $1 AND runs.account_id = $1 AND runs.id = $2 AND runs.lease_token = $3
       AND runs.state = 'running' AND runs.last_seq = $4 - 1
    RETURNING accounts.id, accounts.balance, accounts.status, accounts.plan
), run AS (
    UPDATE runs SET last_seq = $4, turn = greatest(turn, $6), cost = cost + $8,
                    lease_until = now() + make_interval(secs => $15)
      FROM account
     WHERE runs.account_id = account.id AND runs.id = $2 AND lease_token = $3
       AND state = 'running' AND last_seq = $4 - 1
    RETURNING runs.account_id, runs.id, runs.test_id, runs.cancel_requested_at
)"""

# An entry that costs nothing leaves the account's row alone.
_FREE = """
WITH run AS (
    UPDATE runs SET last_seq = $4, turn = greatest(turn, $6), cost = cost + $8,
                    lease_until = now() + make_interval(secs => $15)
     WHERE account_id = $1 AND id = $2 AND lease_token = $3 AND state = 'running' AND last_seq = $4 - 1
    RETURNING account_id, id, test_id, cancel_requested_at
), account AS (
    SELECT id, balance, status, plan FROM accounts WHERE id = $1
)"""

_REST = """, entry AS (
    INSERT INTO entries (account_id, run_id, seq, kind, turn, body, cost)
    SELECT account_id, id, $4, $5, $6, $7::jsonb, $8 FROM run
), charge AS (
    INSERT INTO ledger (account_id, source, source_id, seq, amount, role, llm, test_id,
                        prompt_tokens, cached_prompt_tokens, completion_tokens, estimated)
    SELECT account_id, 'run', id, $4, -$8, $9, $10, test_id, $11, $12, $13, $14
      FROM run WHERE $9::text IS NOT NULL
)
SELECT $2::uuid AS run_id, $3::uuid AS token, $4::int AS seq,
       account.balance, account.status = 'active' AS active, coalesce(plans.metered, true) AS metered,
       run.cancel_requested_at IS NOT NULL AS cancelled, 1 / (SELECT count(*) FROM run) AS held
  FROM account
"""
_PLAN = " LEFT JOIN plans ON plans.code = account.plan"

# The run may be lost while the account is waited for: then the division takes the payment back.
_KEEP_PAID = _PAID + _REST + "LEFT JOIN run ON true" + _PLAN
_KEEP_FREE = _FREE + _REST + "JOIN run ON true" + _PLAN

_ALREADY = """
SELECT accounts.balance, accounts.status = 'active' AS active, plans.metered,
       runs.cancel_requested_at IS NOT NULL AS cancelled
  FROM runs JOIN accounts ON accounts.id = runs.account_id JOIN plans ON plans.code = accounts.plan
 WHERE runs.account_id = $1 AND runs.id = $2 AND runs.lease_token = $3
   AND runs.state = 'running' AND runs.last_seq = $4
"""


def _is_finite(opinion: Opinion) -> bool:
    return (opinion.score + opinion.turn_delta + opinion.conversation_delta).is_finite()


@dataclass(frozen=True, slots=True)
class _Line:
    """An entry as the statement takes it."""

    lease: Lease
    seq: int
    values: tuple[object, ...]
    is_paid: bool

    @property
    def key(self) -> tuple[UUID, UUID, int]:
        return self.lease.run_id, self.lease.token, self.seq

    @property
    def place(self) -> tuple[UUID, UUID]:
        """Locks are taken in this order, so that no two groups lock each other out."""
        return self.lease.account_id, self.lease.run_id


class Journal:
    """Writes and reads the entries of runs."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._paid: Groups[_Line, Standing] = Groups(partial(self._write, _KEEP_PAID))
        self._free: Groups[_Line, Standing] = Groups(partial(self._write, _KEEP_FREE))

    async def keep(
        self, lease: Lease, seq: int, entry: Entry, charge: Charge | None, written: bytes | None = None
    ) -> Standing:
        """Keep `entry` as number `seq`. Waits while Postgres is away; raises `LeaseLost`.

        `written` is the entry as JSON, where the caller has it. Repeating a call whose answer was lost
        changes nothing. Raises ValueError for a number that is none: kept, it would make the run unreadable.
        """
        if isinstance(entry, Opinion) and not _is_finite(entry):
            raise ValueError("an opinion's numbers must be finite")
        line = _line(lease, seq, entry, charge, written or ENTRY.dump_json(entry))
        return await (self._paid if line.is_paid else self._free).add(lease.account_id, line)

    async def _write(self, statement: str, lines: Sequence[_Line]) -> list[Standing | Exception]:
        """Write `lines`: all in one transaction, or each alone where one of them spoils that."""
        try:
            return await patiently(lambda: self._write_together(statement, lines))
        except asyncpg.PostgresError as fault:
            if len(lines) == 1:
                return [LeaseLost() if isinstance(fault, asyncpg.DivisionByZeroError) else fault]
        return [result for line in lines for result in await self._write(statement, [line])]

    async def _write_together(self, statement: str, lines: Sequence[_Line]) -> list[Standing | Exception]:
        ordered = sorted(lines, key=attrgetter("place"))
        async with self._database.raw() as connection:
            rows = await connection.fetchmany(statement, [line.values for line in ordered])
            kept = {(row["run_id"], row["token"], row["seq"]): row for row in rows}
            found = [kept.get(line.key) or await _kept_before(connection, line) for line in lines]
        return [_standing(row) if row else LeaseLost() for row in found]

    async def read(self, account_id: UUID, run_id: UUID, after_seq: int = 0) -> list[Entry]:
        """The kept entries after `after_seq`, in order. Holds a connection for this one statement only."""
        async with self._database.raw() as connection:
            rows = await connection.fetch(_READ, account_id, run_id, after_seq)
        return [ENTRY.validate_python(row["body"]) for row in rows]


def _line(lease: Lease, seq: int, entry: Entry, charge: Charge | None, written: bytes) -> _Line:
    amount = charge.amount if charge else Decimal(0)
    usage = charge.usage if charge else Usage(model="")
    values = (
        lease.account_id,
        lease.run_id,
        lease.token,
        seq,
        entry.kind,
        getattr(entry, "turn", 0),
        written.decode(),
        amount,
        charge.role if charge else None,
        usage.model,
        usage.prompt_tokens,
        usage.cached_prompt_tokens,
        usage.completion_tokens,
        usage.estimated,
        lease.seconds,
    )
    return _Line(lease, seq, values, is_paid=bool(amount))


async def _kept_before(connection: RawConnection, line: _Line) -> asyncpg.Record | None:
    """How things stand, if the entry is there already: the answer to the first try was lost."""
    return await connection.fetchrow(_ALREADY, *line.values[:4])


def _standing(row: asyncpg.Record) -> Standing:
    return Standing(
        balance=row["balance"],
        account_active=row["active"],
        metered=row["metered"],
        cancel_requested=row["cancelled"],
    )


_READ = """
SELECT body FROM entries WHERE account_id = $1 AND run_id = $2 AND seq > $3 ORDER BY seq
"""
