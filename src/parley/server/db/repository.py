"""The base of every repository: it cannot be made without saying whose rows it may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar, cast
from uuid import UUID

from sqlalchemy import Select, select

from parley.server.db.base import Owned
from parley.server.db.session import Session
from parley.server.kit.paging import Paging, write_cursor
from parley.server.kit.schemas import PageInfo


@dataclass(frozen=True, slots=True)
class AccountScope:
    """The rows of one account."""

    account_id: UUID

    def __post_init__(self) -> None:
        if not getattr(self.account_id, "int", 0):
            raise ValueError("an account scope needs an account id")


@dataclass(frozen=True, slots=True)
class SystemScope:
    """The rows of all accounts, for background work and operators. `reason` says why."""

    reason: str

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise ValueError("a system scope needs a reason")


Scope: TypeAlias = AccountScope | SystemScope


R = TypeVar("R", bound=Owned)


class Repository(Generic[R]):
    """The rows of one table within one scope. Rooms subclass it and add their statements.

    Start every statement from `self.rows()`, or from `self.narrow(...)`, which puts the account
    into the WHERE clause.
    """

    table: ClassVar[type[Any]]

    def __init__(self, session: Session, scope: Scope) -> None:
        """Raises TypeError for anything but a scope."""
        if not isinstance(scope, AccountScope | SystemScope):
            raise TypeError("a repository needs an AccountScope or a SystemScope")
        self.session = session
        self.scope = scope

    def narrow(self, statement: Any) -> Any:
        """`statement` (select, update, delete of this table) within the scope."""
        if isinstance(self.scope, AccountScope):
            return statement.where(self.table.account_id == self.scope.account_id)
        return statement

    def rows(self) -> Select[R]:
        """A SELECT of the rows in scope."""
        return cast("Select[R]", self.narrow(select(self.table)))

    async def get(self, row_id: UUID, *, lock: bool = False) -> R | None:
        """The row, or None if there is none in scope. `lock` holds it to the end of the transaction."""
        statement = self.rows().where(self.table.id == row_id)
        if lock:
            statement = statement.with_for_update()
        return cast("R | None", await self.session.scalar(statement))

    async def page(self, statement: Select[R], paging: Paging) -> tuple[Sequence[R], PageInfo]:
        """One page of `statement` (from `rows()`), newest first."""
        return await page_of(self.session, statement, self.table.id, paging)

    async def add(self, row: R) -> R:
        """Insert `row` now. Raises ValueError for a row of another account."""
        if isinstance(self.scope, AccountScope) and row.account_id != self.scope.account_id:
            raise ValueError("the row belongs to another account")
        self.session.add(row)
        await self.session.flush()
        return row

    async def delete(self, row: R) -> None:
        """Delete `row` now."""
        await self.session.delete(row)
        await self.session.flush()


async def page_of(
    session: Session, statement: Select[Any], id_column: Any, paging: Paging
) -> tuple[Sequence[Any], PageInfo]:
    """One page of `statement`, newest first by `id_column`. Rooms page through their repository."""
    if paging.before is not None:
        statement = statement.where(id_column < paging.before)
    statement = statement.order_by(id_column.desc()).offset(paging.offset).limit(paging.limit + 1)
    found = (await session.scalars(statement)).all()
    rows, has_more = found[: paging.limit], len(found) > paging.limit
    return rows, PageInfo(
        limit=paging.limit,
        offset=paging.offset,
        has_more=has_more,
        next_cursor=write_cursor(rows[-1].id) if has_more else None,
    )
