"""The sealed columns of a gateway."""

from __future__ import annotations

from collections.abc import Mapping

from parley.server.db.tables import AiGateway
from parley.server.kit import strictjson
from parley.server.kit.crypto import Keyring, Place


def seal_api_key(keyring: Keyring, row: AiGateway, api_key: str | None) -> bytes | None:
    """The key as it is stored."""
    return keyring.seal(api_key, _place(row, "api_key")) if api_key is not None else None


def seal_headers(keyring: Keyring, row: AiGateway, headers: Mapping[str, str] | None) -> bytes | None:
    """All headers as they are stored."""
    return keyring.seal(strictjson.write(dict(headers)), _place(row, "headers")) if headers else None


def open_api_key(keyring: Keyring, row: AiGateway) -> str | None:
    """The key. Raises `UnsealError`."""
    return keyring.open(row.sealed_api_key, _place(row, "api_key")) if row.sealed_api_key else None


def open_headers(keyring: Keyring, row: AiGateway) -> dict[str, str]:
    """The headers. Raises `UnsealError`."""
    if not row.sealed_headers:
        return {}
    found: dict[str, str] = strictjson.read(keyring.open(row.sealed_headers, _place(row, "headers")).encode())
    return found


def _place(row: AiGateway, field: str) -> Place:
    return Place(row.account_id, AiGateway.__tablename__, row.id, field)
