"""The sealed column of a remote app."""

from __future__ import annotations

from parley.server.db.tables import RemoteApp
from parley.server.kit.crypto import Keyring, Place


def seal_key(keyring: Keyring, row: RemoteApp, service_key: str) -> bytes:
    """The key as it is stored."""
    return keyring.seal(service_key, _place(row))


def open_key(keyring: Keyring, row: RemoteApp) -> str:
    """The key. Raises `UnsealError`."""
    return keyring.open(row.sealed_service_key, _place(row))


def _place(row: RemoteApp) -> Place:
    return Place(row.account_id, RemoteApp.__tablename__, row.id, "service_key")
