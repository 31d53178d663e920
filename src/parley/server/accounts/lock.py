"""The account's row lock: the first lock of everything that moves money, quota or slots."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select

from parley.server.db.raw import RawConnection
from parley.server.db.session import Session
from parley.server.db.tables import Account


async def lock_account(session: Session, account_id: UUID) -> Account | None:
    """The account's row as it is now, held to the end of the transaction. Take it before any run's."""
    statement = select(Account).where(Account.id == account_id).with_for_update(key_share=True)
    return await session.scalar(statement.execution_options(populate_existing=True))


async def hold_account(connection: RawConnection, account_id: UUID) -> bool:
    """The same lock, in the transaction that is open on a raw connection. False without such an account."""
    return await connection.fetchval(_HOLD, account_id) is not None


_HOLD = "SELECT id FROM accounts WHERE id = $1 FOR NO KEY UPDATE"
