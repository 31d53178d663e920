"""The hook key of an account, and what is made of it: a signature for each call, a nonce for each run."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field

import bcrypt

KEY_PREFIX = "whsec_"
"""How Standard Webhooks marks a symmetric secret."""
KEY_BYTES = 32
"""Random bytes of a key (product contract); written out it has 50 characters, and bcrypt takes 72."""
NONCE_COST = 10
"""bcrypt's cost: some 80 ms of one core (product contract)."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a run shows to its hooks: the key that was valid at its first hook, and the key's bcrypt hash."""

    key: str = field(repr=False)
    nonce: str = field(repr=False)


def new_key() -> str:
    """A key of ours: the prefix and 32 random bytes in base64."""
    return KEY_PREFIX + base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def nonce_of(key: str) -> str:
    """A fresh bcrypt hash of the key as it was shown. Blocking, so keep it off the loop."""
    return bcrypt.hashpw(key.encode(), bcrypt.gensalt(NONCE_COST)).decode()


def signature_of(key: str, message_id: str, timestamp_s: int, body: bytes) -> str:
    """The `webhook-signature` of a message, by version 1 of Standard Webhooks."""
    secret = base64.b64decode(key.removeprefix(KEY_PREFIX))
    signed = f"{message_id}.{timestamp_s}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()
