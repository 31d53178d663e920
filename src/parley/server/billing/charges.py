"""Charging what was used, under the account's lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal
from uuid import UUID

from sqlalchemy import func, select

from parley.engine.chat.pieces import Usage
from parley.server.accounts.lock import lock_account
from parley.server.db.session import Session
from parley.server.db.tables import LedgerEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """One inference of a judge: what it used and what it costs, US dollars."""

    usage: Usage
    amount: Decimal


async def charge_judge(
    session: Session, account_id: UUID, source: Literal["grade"], source_id: UUID, spent: Sequence[Spent]
) -> Decimal:
    """Take these inferences from the account's balance, a ledger line each; what they cost together.

    Locks the account's row until the transaction ends. An account that is gone pays nothing.
    """
    account = await lock_account(session, account_id)
    if account is None or not spent:
        return Decimal(0)
    total = sum((each.amount for each in spent), Decimal(0))
    account.balance -= total
    of_source = (LedgerEntry.account_id == account_id, LedgerEntry.source_id == source_id)
    highest = select(func.max(LedgerEntry.seq)).where(*of_source, LedgerEntry.source == source)
    last = await session.scalar(highest) or 0
    session.add_all(
        LedgerEntry(
            account_id=account_id,
            source=source,
            source_id=source_id,
            seq=seq,
            amount=-each.amount,
            role="judge",
            llm=each.usage.model,
            prompt_tokens=each.usage.prompt_tokens,
            cached_prompt_tokens=each.usage.cached_prompt_tokens,
            completion_tokens=each.usage.completion_tokens,
            estimated=each.usage.estimated,
        )
        for seq, each in enumerate(spent, last + 1)
    )
    await session.flush()
    return total
