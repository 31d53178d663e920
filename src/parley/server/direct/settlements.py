"""Settlements of this process's direct evaluations: what waits goes together, each by its own statement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import itemgetter
from typing import TypeAlias

import asyncpg

from parley.server.db.database import Database
from parley.server.journal.groups import Groups
from parley.server.journal.keep import patiently

Values: TypeAlias = tuple[object, ...]
"""What the statement takes, in its order: the account, the call, the number, the amount, and the rest."""

# As for the entries of runs: the account's row first, and once (see `journal.keep`).
_PAY = """
WITH account AS (
    UPDATE accounts SET balance = accounts.balance - $4 FROM direct_calls
     WHERE accounts.id = $1 AND direct_calls.account_id = $1 AND direct_calls.id = $2
       AND direct_calls.last_seq < $3
    RETURNING accounts.id, accounts.balance, accounts.status, accounts.plan
)"""

_LOOK = """
WITH account AS (
    SELECT id, balance, status, plan FROM accounts WHERE id = $1
)"""

_SETTLE = """, call AS (
    UPDATE direct_calls SET last_seq = $3, cost = cost + $4, state = coalesce($5, state),
                            outcome = CASE WHEN state = 'running' THEN $6 ELSE outcome END,
                            error_code = CASE WHEN state = 'running' THEN $7 ELSE error_code END,
                            updated_at = now(),
                            finished_at = CASE WHEN $5 IS NULL THEN finished_at
                                               ELSE coalesce(finished_at, now()) END
      FROM account
     WHERE direct_calls.account_id = account.id AND direct_calls.id = $2 AND last_seq < $3
    RETURNING direct_calls.account_id, direct_calls.id, direct_calls.state = 'running' AS open
), charge AS (
    INSERT INTO ledger (account_id, source, source_id, seq, amount, role, llm,
                        prompt_tokens, cached_prompt_tokens, completion_tokens, estimated)
    SELECT call.account_id, 'direct', call.id, spent.seq, -spent.amount, spent.role, spent.llm,
           spent.prompt, spent.cached, spent.completion, spent.estimated
      FROM call, unnest($8::int[], $9::numeric[], $10::text[], $11::text[], $12::bigint[], $13::bigint[],
                        $14::bigint[], $15::bool[])
                 AS spent(seq, amount, role, llm, prompt, cached, completion, estimated)
)
SELECT call.id AS call_id, account.balance, account.status = 'active' AS active, plans.metered, call.open
  FROM account JOIN call ON true JOIN plans ON plans.code = account.plan
"""


class Settlements:
    """Writes what evaluations have used. A group is one transaction; locks are taken by account, then call.

    Those that pay and those that are free go in groups apart: the free ones lock no account.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._paid: Groups[Values, asyncpg.Record | None] = Groups(partial(self._write, _PAY + _SETTLE))
        self._free: Groups[Values, asyncpg.Record | None] = Groups(partial(self._write, _LOOK + _SETTLE))

    async def add(self, values: Values) -> asyncpg.Record | None:
        """How things stand once this is written; None if it was written before. Waits for the database."""
        account_id, amount = values[0], values[3]
        return await (self._paid if amount else self._free).add(account_id, values)

    async def _write(
        self, statement: str, group: Sequence[Values]
    ) -> Sequence[asyncpg.Record | Exception | None]:
        """Write `group`: all in one transaction, or each alone where one of them spoils that."""
        try:
            return await patiently(lambda: self._write_together(statement, group))
        except asyncpg.PostgresError as fault:
            if len(group) == 1:
                return [fault]
        return [result for values in group for result in await self._write(statement, [values])]

    async def _write_together(
        self, statement: str, group: Sequence[Values]
    ) -> Sequence[asyncpg.Record | None]:
        ordered = sorted(group, key=_place)
        async with self._database.raw() as connection:
            rows = await connection.fetchmany(statement, ordered)
        written = {row["call_id"]: row for row in rows}
        return [written.get(values[1]) for values in group]


_place = itemgetter(0, 1)
