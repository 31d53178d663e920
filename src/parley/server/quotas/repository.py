"""SQL of units, and of what integrated llms used up. Who decides by it holds the account's row lock."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol, cast

from sqlalchemy import text

from parley.server.db.raw import RawConnection
from parley.server.db.repository import AccountScope, Repository
from parley.server.db.session import Session
from parley.server.db.tables import QuotaUnit
from parley.server.kit.ids import new_id
from parley.server.quotas.window import WINDOW

# The clock is read in a subquery of its own: a condition on a volatile function would use no index.
_WINDOW = """
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
SELECT clock.now, ARRAY(
           SELECT spent_at FROM quota_units
            WHERE account_id = :account_id AND spent_at >= clock.now - CAST(:window AS interval)
            ORDER BY spent_at DESC LIMIT CAST(:most AS bigint)
       ) AS spent_at
  FROM clock
"""

_SPEND = """
WITH old AS (
    SELECT id FROM quota_units
     WHERE account_id = :account_id AND spent_at < CAST(:now AS timestamptz) - CAST(:window AS interval)
     ORDER BY spent_at LIMIT 100
), gone AS (
    DELETE FROM quota_units USING old WHERE quota_units.account_id = :account_id AND quota_units.id = old.id
)
INSERT INTO quota_units (account_id, id, spent_at) VALUES (:account_id, :id, CAST(:now AS timestamptz))
"""

_RECENT = """
WITH recent AS (
    SELECT created_at, prompt_tokens + completion_tokens AS tokens FROM ledger
     WHERE account_id = :account_id AND role = 'assistant' AND llm LIKE '@%'
       AND created_at > now() - interval '24 hours'
)
"""
_INTEGRATED = _RECENT + "SELECT count(*) AS requests, coalesce(sum(tokens), 0)::bigint AS tokens FROM recent"

# What has to leave before there is room: walking from the newest, the line that fills the limit.
_FREES_IN = (
    _RECENT
    + """
SELECT extract(epoch FROM max(created_at) + interval '24 hours' - now())::float8 AS seconds
  FROM (
    SELECT created_at, count(*) OVER newest AS requests, sum(tokens) OVER newest AS tokens
      FROM recent WINDOW newest AS (ORDER BY created_at DESC ROWS UNBOUNDED PRECEDING)
  ) AS running
 WHERE requests >= CAST(:requests AS bigint) OR tokens >= CAST(:tokens AS bigint)
"""
)


_SLOTS = text("""
SELECT (SELECT count(*) FROM runs WHERE account_id = :account_id
           AND state IN ('pending', 'running') AND admitted_at IS NOT NULL)
       + (SELECT count(*) FROM attempts
           WHERE account_id = :account_id AND state IN ('queued', 'running')) AS runs,
       (SELECT count(*) FROM runs WHERE account_id = :account_id
           AND state = 'pending' AND admitted_at IS NULL) AS waiting,
       (SELECT count(*) FROM direct_calls WHERE account_id = :account_id AND state = 'running') AS direct
""")


class Slots(NamedTuple):
    """Runs that hold a slot, runs that wait for one, direct evaluations that are open."""

    runs: int
    waiting: int
    direct: int


class IntegratedUse(NamedTuple):
    """What an account used of integrated llms in the last 24 hours: inferences, and tokens of both kinds."""

    requests: int
    tokens: int


class Units(Protocol):
    """The units of one account, and what it used of integrated llms."""

    async def in_window(self, most: int | None) -> tuple[datetime, Sequence[datetime]]:
        """The database's clock, and the newest units that may still count: `most` of them, or all."""
        ...

    async def spend(self, now: datetime) -> None:
        """Spend a unit at `now`. Removes more old ones than it makes, so that they never pile up."""
        ...

    async def integrated_use(self) -> IntegratedUse:
        """What was used of integrated llms in the last 24 hours."""
        ...

    async def integrated_frees_in_s(self, requests: int | None, tokens: int | None) -> float | None:
        """Seconds until both uses are under these limits again; None if waiting does not help."""
        ...


class QuotaUnitRepository(Repository[QuotaUnit]):
    """The units of an account."""

    table = QuotaUnit

    def __init__(self, session: Session, scope: AccountScope) -> None:
        super().__init__(session, scope)
        self._account_id = scope.account_id

    async def in_window(self, most: int | None) -> tuple[datetime, Sequence[datetime]]:
        """The database's clock, and the newest units that may still count: `most` of them, or all."""
        values = {"account_id": self._account_id, "window": WINDOW, "most": most}
        row = (await self.session.execute(text(_WINDOW), values)).one()
        return row.now, row.spent_at

    async def spend(self, now: datetime) -> None:
        """Spend a unit at `now`. Removes more old ones than it makes, so that they never pile up."""
        values = {"account_id": self._account_id, "window": WINDOW, "now": now, "id": new_id()}
        await self.session.execute(text(_SPEND), values)

    async def slots(self) -> Slots:
        """What of the account is under way."""
        row = (await self.session.execute(_SLOTS, {"account_id": self._account_id})).one()
        return Slots(row.runs, row.waiting, row.direct)

    async def integrated_use(self) -> IntegratedUse:
        """What was used of integrated llms in the last 24 hours."""
        row = (await self.session.execute(text(_INTEGRATED), {"account_id": self._account_id})).one()
        return IntegratedUse(row.requests, row.tokens)

    async def integrated_frees_in_s(self, requests: int | None, tokens: int | None) -> float | None:
        """Seconds until both uses are under these limits again; None if waiting does not help."""
        values = {"account_id": self._account_id, "requests": requests, "tokens": tokens}
        return cast("float | None", await self.session.scalar(text(_FREES_IN), values))


class StraightUnits:
    """The same over a raw connection, in the transaction that is open on it."""

    def __init__(self, connection: RawConnection, scope: AccountScope) -> None:
        self._connection = connection
        self._account_id = scope.account_id

    async def in_window(self, most: int | None) -> tuple[datetime, Sequence[datetime]]:
        """The database's clock, and the newest units that may still count: `most` of them, or all."""
        row = await self._connection.fetchrow(_STRAIGHT_WINDOW, self._account_id, WINDOW, most)
        assert row is not None, "the clock is one row"
        return row["now"], row["spent_at"]

    async def spend(self, now: datetime) -> None:
        """Spend a unit at `now`. Removes more old ones than it makes, so that they never pile up."""
        await self._connection.fetchrow(_STRAIGHT_SPEND, self._account_id, WINDOW, now, new_id())

    async def integrated_use(self) -> IntegratedUse:
        """What was used of integrated llms in the last 24 hours."""
        row = await self._connection.fetchrow(_STRAIGHT_INTEGRATED, self._account_id)
        assert row is not None, "sums are one row"
        return IntegratedUse(row["requests"], row["tokens"])

    async def integrated_frees_in_s(self, requests: int | None, tokens: int | None) -> float | None:
        """Seconds until both uses are under these limits again; None if waiting does not help."""
        found = await self._connection.fetchval(_STRAIGHT_FREES_IN, self._account_id, requests, tokens)
        return cast("float | None", found)


def _numbered(statement: str, *names: str) -> str:
    """`statement` with these parameters as asyncpg takes them: `$1`, `$2`, and so on."""
    for number, name in enumerate(names, start=1):
        statement = statement.replace(f":{name}", f"${number}")
    return statement


_STRAIGHT_WINDOW = _numbered(_WINDOW, "account_id", "window", "most")
_STRAIGHT_SPEND = _numbered(_SPEND, "account_id", "window", "now", "id")
_STRAIGHT_INTEGRATED = _numbered(_INTEGRATED, "account_id")
_STRAIGHT_FREES_IN = _numbered(_FREES_IN, "account_id", "requests", "tokens")
