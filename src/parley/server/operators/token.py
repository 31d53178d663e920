"""The operators' token."""

from __future__ import annotations

import hashlib
import hmac
from typing import Annotated

from fastapi import Request

from parley.server.errors import OperatorTokenRefused
from parley.server.kit.provide import provided


class OperatorToken:
    """The one token that opens the operators' API; only its digest is held."""

    def __init__(self, token: str) -> None:
        self._digest = _digest(token)

    def opens(self, given: str) -> bool:
        """Whether it is this one. Takes as long whatever is given: digests are compared, in constant time."""
        return hmac.compare_digest(_digest(given), self._digest)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def operator_only(request: Request, token: Annotated[OperatorToken, provided(OperatorToken)]) -> None:
    """A dependency on the operators' token, sent as Bearer. Raises `OperatorTokenRefused`."""
    scheme, _, given = request.headers.get("authorization", "").strip().partition(" ")
    if not token.opens(given.strip()) or scheme.lower() != "bearer":
        raise OperatorTokenRefused
