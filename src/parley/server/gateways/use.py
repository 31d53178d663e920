"""A port: which tests use a gateway. The room of the tests stands above this one and is handed in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from parley.server.db.repository import AccountScope
from parley.server.db.session import Session

MOST_NAMED = 20
"""Tests named in a refusal."""


class UsingTest(NamedTuple):
    """A test that uses a gateway."""

    id: UUID
    name: str


async def _none(_session: Session, _scope: AccountScope, _gateway_id: UUID) -> Sequence[UsingTest]:
    return ()


@dataclass(frozen=True, slots=True)
class GatewayUse:
    """`tests` lists the tests of the account that use a gateway; `MOST_NAMED` of them are enough."""

    tests: Callable[[Session, AccountScope, UUID], Awaitable[Sequence[UsingTest]]] = _none
