"""Seals and opens hook keys, and holds one key and one nonce for each run."""

from __future__ import annotations

import asyncio
from uuid import UUID

from parley.server.db.database import Database
from parley.server.db.tables import HookCredentials, HookKey
from parley.server.hooks import repository
from parley.server.hooks.keys import Credentials, nonce_of
from parley.server.kit import strictjson
from parley.server.kit.crypto import Keyring, Place

HASHES_AT_ONCE = 2
"""Nonces made at once in a process: a burst of starting runs must not fill the loop's shared threads."""


class RunGone(Exception):
    """The run was deleted."""


class HookVault:
    """Decides once for each run with which key it calls, so that a takeover changes nothing."""

    def __init__(self, database: Database, keyring: Keyring) -> None:
        self._database = database
        self._keyring = keyring
        self._hashing = asyncio.Semaphore(HASHES_AT_ONCE)

    async def credentials_of(self, account_id: UUID, run_id: UUID) -> Credentials | None:
        """What this run shows to its hooks; None if the account had no key when it began.

        Raises `UnsealError`, `RunGone`, `DatabaseAway`. Repeating it gives the same.
        """
        async with self._database.raw() as connection:
            decided = await repository.decided(connection, account_id, run_id)
            sealed_key = None if decided else await repository.key_of(connection, account_id)
        if decided is None:
            sealed = await self._made(sealed_key, account_id, run_id) if sealed_key else None
            async with self._database.raw() as connection:
                await repository.decide(connection, account_id, run_id, sealed)
                decided = await repository.decided(connection, account_id, run_id)
        if decided is None:
            raise RunGone
        return self._opened(decided[0], account_id, run_id)

    async def key_of(self, account_id: UUID) -> str | None:
        """The account's key as it is now; None if it has none. Raises `UnsealError`, `DatabaseAway`."""
        async with self._database.raw() as connection:
            sealed = await repository.key_of(connection, account_id)
        return None if sealed is None else self._keyring.open(sealed, place_of_key(account_id))

    async def _made(self, sealed_key: bytes, account_id: UUID, run_id: UUID) -> bytes:
        key = self._keyring.open(sealed_key, place_of_key(account_id))
        async with self._hashing:
            nonce = await asyncio.to_thread(nonce_of, key)
        return self._keyring.seal(strictjson.write([key, nonce]), _place_of_run(account_id, run_id))

    def _opened(self, sealed: bytes | None, account_id: UUID, run_id: UUID) -> Credentials | None:
        if sealed is None:
            return None
        key, nonce = strictjson.read(self._keyring.open(sealed, _place_of_run(account_id, run_id)).encode())
        return Credentials(key, nonce)


def place_of_key(account_id: UUID) -> Place:
    """Where an account's key lives."""
    return Place(account_id, HookKey.__tablename__, account_id, "key")


def _place_of_run(account_id: UUID, run_id: UUID) -> Place:
    return Place(account_id, HookCredentials.__tablename__, run_id, "credentials")
