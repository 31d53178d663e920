"""What an account has left."""

from __future__ import annotations

from parley.server.billing.plans import plan_of
from parley.server.billing.repository import LedgerRepository
from parley.server.billing.schemas import BalanceAnswer
from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.errors import NotFound


async def balance_of(session: Session, scope: AccountScope) -> BalanceAnswer:
    """The balance, kept with the ledger. Raises `NotFound` for an account that is gone."""
    account = await LedgerRepository(session, scope).account()
    if account is None:
        raise NotFound("There is no such account.")
    plan = await plan_of(session, scope.account_id)
    return BalanceAnswer(balance=account.balance, metered=plan.metered)
