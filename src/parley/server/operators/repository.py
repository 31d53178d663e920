"""SQL of operators: rows of all accounts."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import func, select

from parley.server.db.repository import page_of
from parley.server.db.session import Session
from parley.server.db.tables import Account, OperatorAct, Plan
from parley.server.kit.paging import Paging
from parley.server.kit.schemas import PageInfo


class OperatorRepository:
    """Accounts, plans and acts, without any account's scope: only operators get here."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def accounts(self, search: str | None, paging: Paging) -> tuple[Sequence[Account], PageInfo]:
        """Accounts whose name holds `search`, or all, newest first."""
        statement = select(Account)
        if search:
            statement = statement.where(func.strpos(func.lower(Account.name), search.lower()) > 0)
        return await page_of(self._session, statement, Account.id, paging)

    async def plans(self) -> Sequence[Plan]:
        """All plans."""
        return (await self._session.scalars(select(Plan).order_by(Plan.code))).all()

    async def plan(self, code: str, *, lock: bool = False) -> Plan | None:
        """The plan of this code. `lock` holds it to the end of the transaction."""
        statement = select(Plan).where(Plan.code == code)
        return await self._session.scalar(statement.with_for_update(key_share=True) if lock else statement)

    async def acts(self, account_id: UUID | None, paging: Paging) -> tuple[Sequence[OperatorAct], PageInfo]:
        """Acts, newest first; of one account or of all."""
        statement = select(OperatorAct)
        if account_id is not None:
            statement = statement.where(OperatorAct.account_id == account_id)
        return await page_of(self._session, statement, OperatorAct.id, paging)
