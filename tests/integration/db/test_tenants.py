"""No row without an account, no repository without a scope, no reference across accounts."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select

from parley.server.accounts.repository import KeyRepository
from parley.server.db.base import Owned
from parley.server.db.database import Database
from parley.server.db.repository import AccountScope, SystemScope
from parley.server.db.tables import ApiKey, Table
from parley.server.kit.ids import new_id
from tests.factories.accounts import Tenant

WITHOUT_OWNER = {"accounts", "plans", "operator_acts"}


@pytest.mark.parametrize("account_id", [None, "", 0, UUID(int=0)])
def test_missing_account_is_refused(account_id: Any) -> None:
    """C184."""
    with pytest.raises(ValueError, match="account id"):
        AccountScope(account_id)


def test_system_scope_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="reason"):
        SystemScope(" ")


@pytest.mark.parametrize("scope", [None, new_id(), "all"])
async def test_repository_needs_a_scope(database: Database, scope: Any) -> None:
    async with database.session() as session:
        with pytest.raises(TypeError):
            KeyRepository(session, scope)


async def test_scope_shows_its_rows_and_no_others(
    database: Database, tenant: Tenant, stranger: Tenant
) -> None:
    async with database.session() as session:
        own = KeyRepository(session, tenant.scope)
        assert {row.account_id for row in await session.scalars(own.rows())} == {tenant.account_id}
        assert await own.get(stranger.private.id) is None
        assert await own.get(stranger.private.id, lock=True) is None
        assert not await own.revoke(stranger.private.id)
        everyone = KeyRepository(session, SystemScope("a test of the bypass"))
        assert len((await session.scalars(everyone.rows())).all()) == 4
    async with database.session() as session:
        revoked = await session.scalars(select(ApiKey.id).where(ApiKey.revoked_at.is_not(None)))
        assert revoked.all() == []


async def test_row_of_another_account_is_not_added(
    database: Database, tenant: Tenant, stranger: Tenant
) -> None:
    async with database.session() as session:
        row = ApiKey(account_id=stranger.account_id, id=new_id())
        with pytest.raises(ValueError, match="another account"):
            await KeyRepository(session, tenant.scope).add(row)


def test_every_table_carries_its_account_first() -> None:
    for table in Table.metadata.tables.values():
        if table.name not in WITHOUT_OWNER:
            assert table.primary_key.columns.keys()[0] == "account_id", table.name
            assert not table.c.account_id.nullable


def test_foreign_keys_between_owned_tables_carry_the_account() -> None:
    owned = {
        getattr(mapper.class_, "__tablename__", "")
        for mapper in Table.registry.mappers
        if issubclass(mapper.class_, Owned)
    }
    for table in Table.metadata.tables.values():
        for key in table.foreign_key_constraints:
            if key.referred_table.name in owned:
                assert "account_id" in key.column_keys, (table.name, key.column_keys)
