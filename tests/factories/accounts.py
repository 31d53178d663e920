"""Accounts with keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from parley.server.accounts.scopes import KeyKind, KeyScope
from parley.server.accounts.service import create_account, create_key
from parley.server.db.database import Database
from parley.server.db.repository import AccountScope


def bearer(token: str) -> dict[str, str]:
    """The header that carries a key."""
    return {"Authorization": f"Bearer {token}"}


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a test's account."""

    id: UUID
    token: str

    @property
    def auth(self) -> dict[str, str]:
        """The header that carries it."""
        return bearer(self.token)


@dataclass(frozen=True, slots=True)
class Tenant:
    """An account of a test, with a private key of every scope and a public one."""

    account_id: UUID
    private: Key
    public: Key

    @property
    def auth(self) -> dict[str, str]:
        """The header that carries the private key."""
        return self.private.auth

    @property
    def scope(self) -> AccountScope:
        """The rows of this account."""
        return AccountScope(self.account_id)


async def make_tenant(
    database: Database, name: str = "Acme", plan: str = "max", credit: Decimal = Decimal(100)
) -> Tenant:
    """An account with credit and two keys."""
    async with database.session() as session:
        account_id = (await create_account(session, name, plan, credit)).id
    return Tenant(
        account_id, await make_key(database, account_id), await make_key(database, account_id, kind="public")
    )


async def make_key(
    database: Database,
    account_id: UUID,
    kind: KeyKind = "private",
    scopes: Sequence[KeyScope] | None = None,
    expires_at: datetime | None = None,
) -> Key:
    """A key of an account."""
    async with database.session() as session:
        made = await create_key(session, account_id, "test", kind, scopes, expires_at)
    return Key(made.row.id, made.token)
