"""The hook key of an account, and the nonce that is made of it for each run."""

from __future__ import annotations

from dataclasses import dataclass, field

import bcrypt

NONCE_COST = 10
"""bcrypt's cost: some 80 ms of one core (product contract)."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a run shows to its hooks: the key that was valid at its first hook, and the key's bcrypt hash."""

    key: str = field(repr=False)
    nonce: str = field(repr=False)


def nonce_of(key: str) -> str:
    """A fresh bcrypt hash of the key as it was shown. Blocking, so keep it off the loop."""
    return bcrypt.hashpw(key.encode(), bcrypt.gensalt(NONCE_COST)).decode()
