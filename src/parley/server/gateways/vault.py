"""Opens the secrets of gateways for those who call them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from parley.server.db.database import Database
from parley.server.db.tables import AiGateway
from parley.server.gateways.secrets import open_api_key, open_headers
from parley.server.kit.crypto import Keyring


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySecrets:
    """What a gateway's snapshot leaves out."""

    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


_SEALED = "SELECT sealed_api_key, sealed_headers FROM ai_gateways WHERE account_id = $1 AND id = $2"


class GatewayVault:
    """Reads and opens the sealed columns, by a statement of its own."""

    def __init__(self, database: Database, keyring: Keyring) -> None:
        self._database = database
        self._keyring = keyring

    async def secrets_of(self, account_id: UUID, gateway_id: UUID) -> GatewaySecrets | None:
        """The secrets, or None if the account has no such gateway. Raises `UnsealError`."""
        async with self._database.raw() as connection:
            found = await connection.fetchrow(_SEALED, account_id, gateway_id)
        if found is None:
            return None
        return opened(AiGateway(account_id=account_id, id=gateway_id, **found), self._keyring)


def opened(row: AiGateway, keyring: Keyring) -> GatewaySecrets:
    """The secrets of a gateway. Raises `UnsealError`."""
    return GatewaySecrets(api_key=open_api_key(keyring, row), headers=open_headers(keyring, row))
