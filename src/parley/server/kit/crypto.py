"""Sealing of secrets kept in the database: AES-256-GCM, keys that can be rotated, bound to a row."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_VERSION = b"\x01"
_KEY_ID_BYTES = 4
_NONCE_BYTES = 12


class UnsealError(Exception):
    """A secret cannot be opened: its key is gone, it was changed, or it belongs to another row."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a sealed secret lives. Moved to another account, table, row or field it does not open."""

    account_id: UUID
    table: str
    row_id: UUID
    field: str

    def bound(self) -> bytes:
        """The bytes that are authenticated with the secret."""
        return f"{self.account_id}/{self.table}/{self.row_id}/{self.field}".encode()


class Keyring:
    """Secret keys in order: the first seals, each of them opens.

    To rotate, put a new key in front, seal everything again (`is_current` tells what is left), then
    drop the old one. A key is any text of at least 32 characters; it is stretched by SHA-256 only, so
    it has to be random.
    """

    MIN_CHARACTERS = 32

    def __init__(self, keys: Sequence[str]) -> None:
        """Raises ValueError without a key, or with a short one."""
        if not keys or any(len(key) < self.MIN_CHARACTERS for key in keys):
            raise ValueError(f"each secret key needs at least {self.MIN_CHARACTERS} random characters")
        digests = [hashlib.sha256(b"parley/seal/" + key.encode()).digest() for key in keys]
        self._ciphers = {_key_id(digest): AESGCM(digest) for digest in digests}
        self._current = _key_id(digests[0])

    def seal(self, secret: str, place: Place) -> bytes:
        """`secret` sealed for `place`: version, key id, nonce, ciphertext."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._ciphers[self._current].encrypt(nonce, secret.encode(), place.bound())
        return _VERSION + self._current + nonce + sealed

    def open(self, sealed: bytes, place: Place) -> str:
        """The secret in `sealed`. Raises `UnsealError`."""
        key_id, rest = sealed[1 : 1 + _KEY_ID_BYTES], sealed[1 + _KEY_ID_BYTES :]
        cipher = self._ciphers.get(key_id)
        if sealed[:1] != _VERSION or cipher is None:
            raise UnsealError(f"no key opens the {place.field} of {place.table} {place.row_id}")
        try:
            return cipher.decrypt(rest[:_NONCE_BYTES], rest[_NONCE_BYTES:], place.bound()).decode()
        except (InvalidTag, ValueError):
            raise UnsealError(f"the {place.field} of {place.table} {place.row_id} was altered") from None

    @property
    def current_mark(self) -> bytes:
        """How everything begins that the key sealed which seals now."""
        return _VERSION + self._current

    def is_current(self, sealed: bytes) -> bool:
        """Whether `sealed` was made with the key that seals now."""
        return sealed.startswith(self.current_mark)


def _key_id(digest: bytes) -> bytes:
    return hashlib.sha256(b"parley/key-id/" + digest).digest()[:_KEY_ID_BYTES]
