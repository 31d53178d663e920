"""The audit of the books: every balance is the sum of its ledger, to the last digit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from parley.server.billing.repository import differences
from parley.server.db.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An account whose balance is not the sum of its ledger. US dollars."""

    account_id: UUID
    balance: Decimal
    ledger: Decimal


async def audit_books(session: Session) -> Sequence[Difference]:
    """Every difference there is, over all accounts, at one moment. There should be none."""
    return [
        Difference(account_id=account_id, balance=balance, ledger=ledger)
        for account_id, balance, ledger in await differences(session)
    ]
