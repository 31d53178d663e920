"""Signatures of messages to customers' addresses, by version 1 of Standard Webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

SECRET_PREFIX = "whsec_"
"""How Standard Webhooks marks a symmetric secret."""
SECRET_BYTES = 32
"""Random bytes of a secret; the standard asks for 24 to 64."""


def new_secret() -> str:
    """A secret of ours: the prefix and 32 random bytes in base64."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def message_headers(secret: str | None, message_id: str, timestamp_s: int, body: bytes) -> dict[str, str]:
    """The headers a receiver knows a message by and, with a secret, checks it by."""
    headers = {"webhook-id": message_id, "webhook-timestamp": str(timestamp_s)}
    if secret is not None:
        headers["webhook-signature"] = signature_of(secret, message_id, timestamp_s, body)
    return headers


def signature_of(secret: str, message_id: str, timestamp_s: int, body: bytes) -> str:
    """The `webhook-signature` of a message."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = f"{message_id}.{timestamp_s}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
