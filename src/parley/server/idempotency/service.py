"""Remembering which resource a request with an `Idempotency-Key` made.

The row is written in the transaction that makes the resource: a failed create is not remembered, and
of parallel twins the second waits for the first and then finds what it made.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Annotated, TypeAlias
from uuid import UUID

from fastapi import Depends, Header

from parley.server.db.repository import AccountScope, SystemScope
from parley.server.db.session import Session
from parley.server.errors import IdempotencyConflict, InvalidRequest
from parley.server.idempotency import repository

KEPT_FOR = timedelta(hours=24)
"""How long a key is remembered (product contract)."""
LONGEST_KEY = 200
"""Characters of a key (product contract)."""


async def claim(
    session: Session, scope: AccountScope, *, route: str, key: str, body: bytes, new_id: UUID
) -> UUID:
    """The id of the resource this request stands for: `new_id`, and it is to be made now, or an older one.

    `route` is the path with its ids, so that a key used under another resource is another key. Call it
    before other locks are taken. Raises `IdempotencyConflict` if the key was used with another body.
    """
    body_sha256 = hashlib.sha256(body).digest()
    if await repository.claim(session, scope.account_id, route, key, body_sha256, new_id, KEPT_FOR):
        return new_id
    made_before = await repository.find(session, scope.account_id, route, key)
    if made_before is None or made_before.body_sha256 != body_sha256:
        raise IdempotencyConflict
    return made_before.resource_id


async def forget_old(session: Session, scope: SystemScope, limit: int = 1_000) -> int:
    """Delete keys older than 24 hours, at most `limit`; how many were deleted."""
    return await repository.delete_older(session, scope, KEPT_FOR, limit)


def _key(
    value: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            description="At most 200 characters. The same key and body give the same resource for 24 hours.",
        ),
    ] = None,
) -> str | None:
    if value is None:
        return None
    if not value.strip() or len(value) > LONGEST_KEY:
        raise InvalidRequest.field("Idempotency-Key", f"should have 1 to {LONGEST_KEY} characters")
    return value.strip()


IdempotencyKeyDep: TypeAlias = Annotated[str | None, Depends(_key)]
"""The request's `Idempotency-Key`, if it has one."""
