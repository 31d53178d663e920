"""Money that operators move."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal
from uuid import UUID

from parley.server.billing.credits import move_money
from parley.server.db.session import Session
from parley.server.operators.acts import Via, record


async def move(
    session: Session,
    via: Via,
    account_id: UUID,
    amount: Decimal,
    note: str,
    source: Literal["credit", "adjustment"],
    reference: UUID | None = None,
) -> Decimal:
    """Add `amount` US dollars to an account, or take them away; the balance afterwards.

    With a `reference` it is moved once, however often it is asked for. Raises `NotFound`, and
    `InvalidRequest` for an amount that is nothing or a reference that stands for another one.
    """
    balance = await move_money(session, account_id, amount, note, source, reference)
    await record(
        session,
        via,
        f"money.{source}",
        account_id,
        amount=amount,
        note=note,
        reference=reference,
        balance=balance,
    )
    return balance
