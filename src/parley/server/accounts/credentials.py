"""Where a request carries its API key."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode

from parley.server.errors import InvalidKey, MissingKey

QUERY_NAME = "api-key"
SCOPE_NAME = "parley.query_keys"
"""Where the shell leaves the keys it took out of the query, in the ASGI scope."""


def find_token(headers: Mapping[str, str], query_keys: Sequence[str] = ()) -> str:
    """The key of a request: `Authorization` (Bearer or Basic), `x-api-key`, or the query.

    Raises `MissingKey` if there is none, `InvalidKey` if several differ or one cannot be read.
    """
    found = {token for token in (_authorization(headers), _plain(headers.get("x-api-key"))) if token}
    found.update(token for token in query_keys if token)
    if not found:
        raise MissingKey
    if len(found) > 1:
        raise InvalidKey("This request carries two different API keys; send one.")
    return found.pop()


def take_query_keys(scope: MutableMapping[str, Any]) -> tuple[str, ...]:
    """Take `api-key` out of the query of an ASGI scope, so that nothing later can log it."""
    query = scope.get("query_string", b"").decode("latin-1")
    if QUERY_NAME not in query.lower() and "%" not in query:
        return ()
    pairs = parse_qsl(query, keep_blank_values=True, encoding="utf-8", errors="replace")
    keys = tuple(value for name, value in pairs if name.lower() == QUERY_NAME)
    if keys:
        rest = [(name, value) for name, value in pairs if name.lower() != QUERY_NAME]
        scope["query_string"] = urlencode(rest).encode()
    return keys


def _authorization(headers: Mapping[str, str]) -> str | None:
    value = headers.get("authorization")
    if value is None:
        return None
    scheme, _, rest = value.strip().partition(" ")
    match scheme.lower():
        case "bearer":
            return _plain(rest)
        case "basic":
            return _basic(rest.strip())
        case _:
            raise InvalidKey("Send the API key as 'Authorization: Bearer KEY' or 'Basic base64(any:KEY)'.")


def _basic(encoded: str) -> str | None:
    try:
        text = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, ValueError):
        raise InvalidKey("The Basic credentials cannot be read; send base64(any:KEY).") from None
    return _plain(text.rpartition(":")[2])


def _plain(value: str | None) -> str | None:
    return value.strip() or None if value is not None else None
