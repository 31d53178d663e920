"""The keys by which the service is known to the app."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from parley.engine.script.protocol import MAX_KEY_CHARS, MIN_KEY_CHARS
from parley.sdk.evals.errors import EvalsMisconfigured


class ServiceKeys:
    """One key, or several while one is being replaced. Raises `EvalsMisconfigured`."""

    def __init__(self, given: str | Sequence[str]) -> None:
        keys = [given] if isinstance(given, str) else list(given)
        if not keys or not all(_is_sound(key) for key in keys):
            raise EvalsMisconfigured(
                f"A service key has {MIN_KEY_CHARS} to {MAX_KEY_CHARS} printable ASCII characters without "
                "blanks, such as secrets.token_urlsafe(32) makes."
            )
        self._digests = [_digest(key) for key in keys]

    def admit(self, authorization: str) -> bool:
        """Whether a header `Authorization` holds one of them, in a time that tells nothing."""
        scheme, _, key = authorization.partition(" ")
        given = _digest(key)
        found = [hmac.compare_digest(given, digest) for digest in self._digests]
        return scheme.lower() == "bearer" and any(found)


def _digest(key: str) -> bytes:
    # Digests have one length, so that comparing them does not tell that of the key.
    return hashlib.sha256(key.encode()).digest()


def _is_sound(key: object) -> bool:
    return (
        isinstance(key, str)
        and MIN_KEY_CHARS <= len(key) <= MAX_KEY_CHARS
        and all("!" <= character <= "~" for character in key)
    )
