"""The account's row lock: the first lock of everything that moves money, quota or slots."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select

from parley.server.db.session import Session
from parley.server.db.tables import Account


async def lock_account(session: Session, account_id: UUID) -> Account | None:
    """The account's row as it is now, held to the end of the transaction. Take it before any run's."""
    statement = select(Account).where(Account.id == account_id).with_for_update(key_share=True)
    return await session.scalar(statement.execution_options(populate_existing=True))
