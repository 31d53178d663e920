"""The record of what operators did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias
from uuid import UUID

from parley.server.db.session import Session
from parley.server.db.tables import OperatorAct
from parley.server.kit.paging import Paging
from parley.server.kit.schemas import PageInfo
from parley.server.operators.repository import OperatorRepository

Via: TypeAlias = Literal["api", "command"]
"""How an operator reached us."""


async def record(session: Session, via: Via, act: str, account_id: UUID | None, **details: Any) -> None:
    """Write an act, `<what>.<verb>`, into the transaction that does it. Details never hold secrets."""
    told = {
        name: value if isinstance(value, bool | int | None) else str(value) for name, value in details.items()
    }
    session.add(OperatorAct(act=act, via=via, account_id=account_id, details=told))
    await session.flush()


async def list_acts(
    session: Session, account_id: UUID | None, paging: Paging
) -> tuple[Sequence[OperatorAct], PageInfo]:
    """What was done, newest first; of one account or of all."""
    return await OperatorRepository(session).acts(account_id, paging)
