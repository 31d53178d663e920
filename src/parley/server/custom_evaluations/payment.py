"""What judging costs: one ledger entry per attempt of the judge, with the score or not at all.

One statement pays for all attempts at one result, and only for whoever holds it. It stands in the transaction
of the score, so that neither is ever there without the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from sqlalchemy import text

from parley.engine.chat.pieces import Usage
from parley.server.billing.plans import terms_of
from parley.server.db.session import Session
from parley.server.db.tables import Account, Plan
from parley.server.evaluations.scoring import Claimed
from parley.server.llm.prices import FREE, Prices, cost_of

Refusal: TypeAlias = Literal["balance_exhausted", "account_suspended"]

# The account's row is locked first, and touched once (see `journal.keep`).
_PAY = text("""
WITH account AS (
    UPDATE accounts SET balance = accounts.balance - CAST(:total AS numeric) FROM case_results
     WHERE accounts.id = :account_id AND case_results.account_id = :account_id
       AND case_results.id = :result_id AND case_results.status = 'scoring'
       AND case_results.lease_token = :token
    RETURNING accounts.id
), before AS (
    SELECT coalesce(max(seq), 0) AS seq FROM ledger
     WHERE account_id = :account_id AND source = 'evaluation' AND source_id = :result_id
)
INSERT INTO ledger (account_id, source, source_id, seq, amount, role, llm,
                    prompt_tokens, cached_prompt_tokens, completion_tokens, estimated)
SELECT account.id, 'evaluation', :result_id, before.seq + spent.place, -spent.amount, 'judge', spent.llm,
       spent.prompt, spent.cached, spent.completion, spent.estimated
  FROM account, before,
       unnest(CAST(:amounts AS numeric[]), CAST(:llms AS text[]), CAST(:prompts AS bigint[]),
              CAST(:cached AS bigint[]), CAST(:completions AS bigint[]), CAST(:estimated AS bool[]))
       WITH ORDINALITY AS spent(amount, llm, prompt, cached, completion, estimated, place)
RETURNING seq
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Purse:
    """How an account stands towards its judges: what it is charged, and whether it may go on."""

    prices: Prices
    multiplier: Decimal
    refusal: Refusal | None

    def amount(self, usage: Usage) -> Decimal:
        """What one attempt costs it, US dollars."""
        return cost_of(usage, self.prices, self.multiplier)

    def total(self, spent: Sequence[Usage]) -> Decimal:
        """What these attempts cost it together."""
        return sum(map(self.amount, spent), Decimal(0))


async def purse_of(session: Session, held: Claimed, prices: Prices) -> Purse:
    """The purse of the account of a result, for a judge of these prices. An unmetered plan charges 0."""
    account = await session.get_one(Account, held.account_id)
    terms = terms_of(await session.get_one(Plan, account.plan))
    refusal: Refusal | None = None
    if account.status != "active":
        refusal = "account_suspended"
    elif terms.metered and account.balance <= 0:
        refusal = "balance_exhausted"
    return Purse(prices=prices if terms.metered else FREE, multiplier=terms.multiplier, refusal=refusal)


async def pay(
    session: Session, held: Claimed, purse: Purse, spent: Sequence[Usage], name: str | None
) -> bool:
    """Charge the attempts at a result that is `held`. False, and nothing charged, if it is so no more.

    `name` stands for the llm where the account knows it by another than its provider's.
    """
    if not spent:
        return True
    rows = await session.execute(
        _PAY,
        {
            "account_id": held.account_id,
            "result_id": held.result_id,
            "token": held.token,
            "total": purse.total(spent),
            "amounts": [purse.amount(usage) for usage in spent],
            "llms": [name or usage.model for usage in spent],
            "prompts": [usage.prompt_tokens for usage in spent],
            "cached": [usage.cached_prompt_tokens for usage in spent],
            "completions": [usage.completion_tokens for usage in spent],
            "estimated": [usage.estimated for usage in spent],
        },
    )
    return len(rows.all()) == len(spent)
