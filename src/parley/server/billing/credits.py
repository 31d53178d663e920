"""Credit and adjustments: money moved by an operator."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal
from uuid import UUID

from sqlalchemy import update

from parley.server.db.session import Session
from parley.server.db.tables import Account, LedgerEntry
from parley.server.errors import NotFound
from parley.server.kit.ids import new_id
from parley.server.kit.money import usd


async def move_money(
    session: Session,
    account_id: UUID,
    amount: Decimal,
    note: str,
    source: Literal["credit", "adjustment"] = "credit",
) -> Decimal:
    """Add `amount` US dollars (negative takes away) with its ledger line; the balance afterwards.

    Locks the account's row until the transaction ends. Raises `NotFound` for an unknown account.
    """
    moved = usd(amount)
    balance = await session.scalar(
        update(Account)
        .where(Account.id == account_id)
        .values(balance=Account.balance + moved)
        .returning(Account.balance)
        .execution_options(synchronize_session=False)
    )
    if balance is None:
        raise NotFound("There is no such account.")
    session.add(
        LedgerEntry(account_id=account_id, source=source, source_id=new_id(), seq=0, amount=moved, note=note)
    )
    await session.flush()
    return balance
