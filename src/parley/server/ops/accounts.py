"""Accounts and keys, made by an operator straight in the database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from parley.server.accounts import service
from parley.server.accounts.scopes import KeyKind
from parley.server.config import DatabaseSettings
from parley.server.db.database import Database
from parley.server.db.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeAccount:
    """A new account and its first keys; they cannot be shown again."""

    account_id: UUID
    private_key: str
    public_key: str


async def make_account(name: str, plan: str, credit_usd: Decimal) -> MadeAccount:
    """An account with one private and one public key. Raises `InvalidRequest` and `DatabaseAway`."""
    async with _session() as session:
        account = await service.create_account(session, name, plan, credit_usd)
        private = await service.create_key(session, account.id, "first key", "private")
        public = await service.create_key(session, account.id, "first public key", "public")
        return MadeAccount(account_id=account.id, private_key=private.token, public_key=public.token)


async def make_key(account_id: UUID, name: str, kind: KeyKind) -> str:
    """Another key of an account. Raises `NotFound` and `DatabaseAway`."""
    async with _session() as session:
        return (await service.create_key(session, account_id, name, kind)).token


@asynccontextmanager
async def _session() -> AsyncIterator[Session]:
    """One transaction on the database of the settings."""
    database = Database(DatabaseSettings().url.get_secret_value())
    try:
        async with database.session() as session:
            yield session
    finally:
        await database.close()
