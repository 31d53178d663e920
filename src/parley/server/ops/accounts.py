"""Accounts and keys, made by an operator straight in the database."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from parley.server.accounts.scopes import KeyKind
from parley.server.operators import accounts as operators
from parley.server.ops.transaction import transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeAccount:
    """A new account and its first keys; they cannot be shown again."""

    account_id: UUID
    private_key: str
    public_key: str


async def make_account(name: str, plan: str, credit_usd: Decimal) -> MadeAccount:
    """An account with one private and one public key. Raises `InvalidRequest` and `DatabaseAway`."""
    async with transaction() as session:
        made = await operators.open_account(session, "command", name, plan, credit_usd)
        return MadeAccount(
            account_id=made.account.id, private_key=made.private_key, public_key=made.public_key
        )


async def make_key(account_id: UUID, name: str, kind: KeyKind) -> str:
    """Another key of an account. Raises `NotFound` and `DatabaseAway`."""
    async with transaction() as session:
        return (await operators.make_key(session, "command", account_id, name, kind)).token
