"""API keys as texts: `sk-par-` or `pk-par-`, 256 random bits, a checksum against typing errors.

Letters and digits only, so that a double click takes the whole key.
"""

from __future__ import annotations

import hashlib
import secrets
import zlib

from parley.server.accounts.scopes import KeyKind

_PREFIXES: dict[KeyKind, str] = {"private": "sk-par-", "public": "pk-par-"}
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RANDOM_DIGITS = 43
"""Base 62 digits that 256 bits need."""
_CHECKSUM_DIGITS = 6
"""Base 62 digits that a CRC-32 needs."""


def new_token(kind: KeyKind) -> str:
    """A fresh key; it is shown once and never stored."""
    body = _PREFIXES[kind] + _base62(secrets.randbits(256), _RANDOM_DIGITS)
    return body + _checksum(body)


def kind_of(token: str) -> KeyKind | None:
    """The kind of a well-formed key; None if prefix, length, alphabet or checksum are wrong."""
    if not token.isascii() or not token.replace("-", "").isalnum():
        return None
    body, checksum = token[:-_CHECKSUM_DIGITS], token[-_CHECKSUM_DIGITS:]
    for kind, prefix in _PREFIXES.items():
        if body.startswith(prefix) and len(body) == len(prefix) + _RANDOM_DIGITS:
            return kind if checksum == _checksum(body) else None
    return None


def digest(token: str) -> bytes:
    """What is stored of a key. The token is random, so one SHA-256 is enough."""
    return hashlib.sha256(token.encode()).digest()


def shown(token: str) -> str:
    """Enough of a key to recognise it by."""
    return f"{token[:11]}...{token[-4:]}"


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), _CHECKSUM_DIGITS)


def _base62(number: int, digits: int) -> str:
    found = ""
    for _ in range(digits):
        number, rest = divmod(number, 62)
        found = _DIGITS[rest] + found
    return found
