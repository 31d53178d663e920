"""Where apps are and the keys they know us by, for those who call them."""

from __future__ import annotations

from uuid import UUID

from parley.server.apps.client import AppAddress
from parley.server.apps.secrets import open_key
from parley.server.db.database import Database
from parley.server.db.tables import RemoteApp
from parley.server.kit.crypto import Keyring

_REACHED = "SELECT url, sealed_service_key FROM remote_apps WHERE account_id = $1 AND id = $2"


class AppVault:
    """Reads and opens, by a statement of its own."""

    def __init__(self, database: Database, keyring: Keyring) -> None:
        self._database = database
        self._keyring = keyring

    async def address_of(self, account_id: UUID, app_id: UUID) -> AppAddress | None:
        """How the app is reached, None if the account has no such app. Raises `UnsealError`."""
        async with self._database.raw() as connection:
            found = await connection.fetchrow(_REACHED, account_id, app_id)
        if found is None:
            return None
        return address_of(RemoteApp(account_id=account_id, id=app_id, **found), self._keyring)


def address_of(row: RemoteApp, keyring: Keyring) -> AppAddress:
    """How an app is reached. Raises `UnsealError`."""
    return AppAddress(url=row.url, service_key=open_key(keyring, row))
