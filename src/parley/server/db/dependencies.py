"""The transaction of a request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, TypeAlias

from fastapi import Depends

from parley.server.db.database import Database
from parley.server.db.session import Session
from parley.server.kit.provide import provided

DatabaseDep: TypeAlias = Annotated[Database, provided(Database)]


async def _transaction(database: DatabaseDep) -> AsyncIterator[Session]:
    async with database.session() as session:
        yield session


SessionDep: TypeAlias = Annotated[Session, Depends(_transaction, scope="function")]
"""One transaction per request, committed before the answer leaves, rolled back if the endpoint raises.

An endpoint that streams must not use it: it opens `database.session()` for as long as it needs.
"""
