"""The hook key of an account."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session
from parley.server.hooks import repository
from parley.server.hooks.vault import place_of_key
from parley.server.kit.crypto import Keyring
from parley.server.kit.signing import new_secret


@dataclass(frozen=True, slots=True)
class RolledKey:
    """A key just made, as it is shown once."""

    key: str = field(repr=False)
    rolled_at: datetime


async def rolled_at(session: Session, scope: AccountScope) -> datetime | None:
    """When the account's hook key was made; None if it has none."""
    return await repository.rolled_at(session, scope.account_id)


async def roll_key(session: Session, scope: AccountScope, keyring: Keyring) -> RolledKey:
    """Make the account's hook key, in place of the one before. Runs that have called a hook keep theirs."""
    key = new_secret()
    sealed = keyring.seal(key, place_of_key(scope.account_id))
    return RolledKey(key, await repository.put_key(session, scope.account_id, sealed))
