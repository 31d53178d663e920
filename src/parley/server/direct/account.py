"""What a direct evaluation costs: kept content-free, settled once a turn and at the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from uuid import UUID

import asyncpg

from parley.engine.ports import Stop
from parley.server.conversation.guard import ConversationGuard
from parley.server.db.database import Database
from parley.server.journal.keep import Charge, Standing, patiently

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
SELECT account.balance, account.status = 'active' AS active, plans.metered, call.open
  FROM account JOIN call ON true JOIN plans ON plans.code = account.plan
"""

SLOT_LOST = Stop(code="shutdown", message="The service lost hold of this evaluation; start it again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnd:
    """How a direct evaluation ended: an outcome, or the code of an error."""

    outcome: str | None = None
    error_code: str | None = None


@dataclass(slots=True)
class DirectAccount:
    """The running account of one direct evaluation."""

    database: Database
    account_id: UUID
    call_id: UUID
    seq: int = 0
    is_lost: bool = False
    """Whether the call was closed by a sweep: its lease had ended. What it used is charged all the same."""
    _open: list[tuple[int, Charge]] = field(default_factory=list)

    def spend(self, charge: Charge | None) -> None:
        """Note what the next entry cost."""
        self.seq += 1
        if charge is not None:
            self._open.append((self.seq, charge))

    async def settle(self, end: CallEnd | None = None) -> Standing | None:
        """Write what is noted, all or nothing; with `end` also that the call is over.

        Waits while the database is away. None if there is nothing to write, or it was written before.
        """
        if not self._open and end is None:
            return None
        if end is not None:
            self.seq += 1
        values = self._values(end)
        row = await patiently(lambda: self._write(values))
        self._open.clear()
        if row is None:
            return None
        self.is_lost = end is None and not row["open"]
        return Standing(
            balance=row["balance"],
            account_active=row["active"],
            metered=row["metered"],
            cancel_requested=False,
        )

    async def _write(self, values: tuple[object, ...]) -> asyncpg.Record | None:
        async with self.database.raw() as connection:
            amount = values[3]
            return await connection.fetchrow((_PAY if amount else _LOOK) + _SETTLE, *values)

    def _values(self, end: CallEnd | None) -> tuple[object, ...]:
        charges = [charge for _, charge in self._open]
        return (
            self.account_id,
            self.call_id,
            self.seq,
            sum((charge.amount for charge in charges), Decimal(0)),
            "ended" if end else None,
            end.outcome if end else None,
            end.error_code if end else None,
            [seq for seq, _ in self._open],
            [charge.amount for charge in charges],
            [charge.role for charge in charges],
            [charge.usage.model for charge in charges],
            [charge.usage.prompt_tokens for charge in charges],
            [charge.usage.cached_prompt_tokens for charge in charges],
            [charge.usage.completion_tokens for charge in charges],
            [charge.usage.estimated for charge in charges],
        )


class DirectGuard(ConversationGuard):
    """The guard of a direct evaluation: settles the turn before, then looks at the balance."""

    def __init__(self, standing: Standing, account: DirectAccount) -> None:
        super().__init__(standing)
        self._account = account

    async def may_start_turn(self, turn: int) -> Stop | None:
        """Settle, then the same questions as for any conversation, and whether its slot is still ours."""
        self.standing = await self._account.settle() or self.standing
        if self._account.is_lost:
            return SLOT_LOST
        return await super().may_start_turn(turn)
