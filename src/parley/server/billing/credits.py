"""Credit and adjustments: money moved by an operator."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal
from uuid import UUID

from parley.server.accounts.lock import lock_account
from parley.server.db.session import Session
from parley.server.db.tables import LedgerEntry
from parley.server.errors import InvalidRequest, NotFound
from parley.server.kit.ids import new_id
from parley.server.kit.money import usd


async def move_money(
    session: Session,
    account_id: UUID,
    amount: Decimal,
    note: str,
    source: Literal["credit", "adjustment"] = "credit",
    reference: UUID | None = None,
) -> Decimal:
    """Add `amount` US dollars (negative takes away) with its ledger line; the balance afterwards.

    With a `reference`, the line's id, a repeat changes nothing. Locks the account's row until the
    transaction ends. Raises `NotFound` for an unknown account, and `InvalidRequest` for an amount
    that rounds to nothing or a reference that stands for another one.
    """
    account = await lock_account(session, account_id)
    if account is None:
        raise NotFound("There is no such account.")
    moved = usd(amount)
    if not moved:
        raise InvalidRequest.field("amount", "is nothing, rounded to 9 places")
    if reference is not None:
        before = await session.get(LedgerEntry, (account_id, source, reference, 0))
        if before is not None and before.amount != moved:
            raise InvalidRequest.field("reference", "was used for another amount")
        if before is not None:
            return account.balance
    account.balance += moved
    line_id = reference or new_id()
    session.add(
        LedgerEntry(account_id=account_id, source=source, source_id=line_id, seq=0, amount=moved, note=note)
    )
    await session.flush()
    return account.balance
