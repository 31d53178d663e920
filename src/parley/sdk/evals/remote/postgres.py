"""Attempts in Postgres: they outlive a restart, and replicas of one app share them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast
from uuid import uuid4

from parley.engine.script.protocol import RouteError, State
from parley.sdk.evals.errors import EvalsMisconfigured
from parley.sdk.evals.remote.store import (
    Admission,
    Admitted,
    Claim,
    Event,
    Hold,
    LeaseLost,
    StoredEvents,
    fitting,
)

if TYPE_CHECKING:
    import asyncpg

    Pool: TypeAlias = asyncpg.Pool[asyncpg.Record]

POLL_S: Final = 0.5
"""How soon one replica sees what another one did."""
CONNECTIONS: Final = 4
COMMAND_S: Final = 10.0

# Every statement names the namespace; times are the database's own.
TABLES: Final = """
CREATE TABLE IF NOT EXISTS parley_evals_instances (
    namespace text PRIMARY KEY,
    instance text NOT NULL
);
CREATE TABLE IF NOT EXISTS parley_evals_attempts (
    namespace text NOT NULL,
    attempt_id text NOT NULL,
    place bigint GENERATED ALWAYS AS IDENTITY,
    asked jsonb NOT NULL,
    lock text,
    replay_safe boolean NOT NULL,
    state text NOT NULL DEFAULT 'queued',
    is_cancelled boolean NOT NULL DEFAULT false,
    token text,
    held_until timestamptz,
    last_cursor integer NOT NULL DEFAULT 0,
    ended_at timestamptz,
    error jsonb,
    PRIMARY KEY (namespace, attempt_id)
);
CREATE INDEX IF NOT EXISTS parley_evals_open
    ON parley_evals_attempts (namespace, place) WHERE state IN ('queued', 'running');
CREATE TABLE IF NOT EXISTS parley_evals_events (
    namespace text NOT NULL,
    attempt_id text NOT NULL,
    cursor integer NOT NULL,
    event text NOT NULL,
    PRIMARY KEY (namespace, attempt_id, cursor),
    FOREIGN KEY (namespace, attempt_id) REFERENCES parley_evals_attempts ON DELETE CASCADE
);
"""
_ARE_THERE = "SELECT to_regclass('parley_evals_events') IS NOT NULL"
_ALONE = "SELECT pg_advisory_xact_lock(hashtextextended('parley_evals ' || $1, 0))"
_INSTANCE = """
INSERT INTO parley_evals_instances (namespace, instance) VALUES ($1, $2)
ON CONFLICT (namespace) DO UPDATE SET namespace = excluded.namespace RETURNING instance
"""
_KNOWN = "SELECT asked = $3::jsonb FROM parley_evals_attempts WHERE namespace = $1 AND attempt_id = $2"
_OPEN = """
SELECT count(*) FROM parley_evals_attempts WHERE namespace = $1 AND state IN ('queued', 'running')
"""
_ADMIT = """
INSERT INTO parley_evals_attempts (namespace, attempt_id, asked, lock, replay_safe)
VALUES ($1, $2, $3::jsonb, $4, $5)
"""
_CLAIM = """
WITH open AS (
    SELECT *, state = 'running' AND held_until < now() AS is_lost
    FROM parley_evals_attempts WHERE namespace = $1 AND state IN ('queued', 'running')
), next AS (
    SELECT attempt_id,
        CASE WHEN is_lost AND NOT replay_safe THEN 'lost' WHEN is_lost THEN 'play'
             WHEN is_cancelled THEN 'cancel' ELSE 'play' END AS duty
    FROM open
    WHERE is_lost OR (state = 'queued' AND (is_cancelled OR (
        (SELECT count(*) FROM open WHERE state = 'running') < $2
        AND NOT EXISTS (SELECT FROM open AS other WHERE other.state = 'running' AND other.lock = open.lock)
    )))
    ORDER BY is_lost DESC, is_cancelled DESC, place LIMIT 1
)
UPDATE parley_evals_attempts AS taken
SET state = 'running', token = $3, held_until = now() + make_interval(secs => $4)
FROM next WHERE taken.namespace = $1 AND taken.attempt_id = next.attempt_id
RETURNING taken.attempt_id, taken.asked, next.duty
"""
_RENEW = """
UPDATE parley_evals_attempts AS held SET held_until = now() + make_interval(secs => $4)
FROM unnest($2::text[], $3::text[]) AS mine (attempt_id, token)
WHERE held.namespace = $1 AND held.attempt_id = mine.attempt_id AND held.token = mine.token
RETURNING held.attempt_id, held.is_cancelled
"""
_APPEND = """
WITH held AS (
    UPDATE parley_evals_attempts SET last_cursor = last_cursor + 1
    WHERE namespace = $1 AND attempt_id = $2 AND token = $3 RETURNING last_cursor
)
INSERT INTO parley_evals_events (namespace, attempt_id, cursor, event)
SELECT $1, $2, last_cursor, $4 FROM held RETURNING cursor
"""
_FINISH = """
UPDATE parley_evals_attempts SET state = $4, error = $5::jsonb, token = NULL, ended_at = now()
WHERE namespace = $1 AND attempt_id = $2 AND token = $3 RETURNING attempt_id
"""
_STANDS = "SELECT state, error FROM parley_evals_attempts WHERE namespace = $1 AND attempt_id = $2"
_READ = """
SELECT cursor, event FROM (
    SELECT cursor, event, sum(octet_length(event)) OVER (ORDER BY cursor) - octet_length(event) AS before
    FROM (
        SELECT cursor, event FROM parley_evals_events
        WHERE namespace = $1 AND attempt_id = $2 AND cursor > $3 ORDER BY cursor LIMIT $4
    ) AS later
) AS sized WHERE before < $5 ORDER BY cursor
"""
_CANCEL = """
UPDATE parley_evals_attempts SET is_cancelled = true WHERE namespace = $1 AND attempt_id = $2 RETURNING state
"""
_FORGET = """
DELETE FROM parley_evals_attempts
WHERE namespace = $1 AND ended_at < now() - make_interval(secs => $2)
"""


class PostgresStore:
    """Keeps attempts under `namespace` in tables of its own, which it makes where they are missing.

    Wants the extra `parley-evals[postgres]`. `dsn` is a `postgresql://` address. A role that may make no
    tables finds them made: run `PostgresStore.tables` as another one.
    """

    poll_s = POLL_S
    tables = TABLES
    """The statements that make them."""

    def __init__(self, dsn: str, namespace: str) -> None:
        if not namespace.strip():
            raise EvalsMisconfigured("PostgresStore needs a namespace: the same in all replicas of an app.")
        self._dsn = dsn
        self._namespace = namespace
        self._instance = ""
        self._opened: Pool | None = None

    @property
    def instance(self) -> str:
        """As `Store.instance`; known once it was opened."""
        return self._instance

    async def open(self) -> None:
        """Connect, and make the tables where they are missing."""
        if self._opened:
            return
        try:
            import asyncpg
        except ImportError as missing:
            raise EvalsMisconfigured("PostgresStore wants asyncpg: parley-evals[postgres].") from missing
        pool = await asyncpg.create_pool(
            self._dsn, min_size=0, max_size=CONNECTIONS, command_timeout=COMMAND_S
        )
        try:
            async with pool.acquire() as connection, connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended('parley_evals', 0))")
                if not await connection.fetchval(_ARE_THERE):
                    await connection.execute(TABLES)
                self._instance = str(await connection.fetchval(_INSTANCE, self._namespace, uuid4().hex))
        except BaseException:
            await pool.close()
            raise
        self._opened = pool

    async def close(self) -> None:
        """Give the connections back."""
        pool, self._opened = self._opened, None
        if pool:
            await pool.close()

    async def admit(self, admission: Admission, *, most_open: int) -> Admitted:
        """As `Store.admit`."""
        asked = json.dumps(admission.order)
        async with self._pool.acquire() as connection, connection.transaction():
            # Counting and adding are one act, for all replicas.
            await connection.execute(_ALONE, self._namespace)
            same = await connection.fetchval(_KNOWN, self._namespace, admission.attempt_id, asked)
            if same is not None:
                return "known" if same else "differs"
            if await connection.fetchval(_OPEN, self._namespace) >= most_open:
                return "full"
            await connection.execute(
                _ADMIT,
                self._namespace,
                admission.attempt_id,
                asked,
                admission.lock,
                admission.replay_safe,
            )
        return "admitted"

    async def claim(self, *, most_running: int, lease_s: float) -> Claim | None:
        """As `Store.claim`."""
        token = uuid4().hex
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute(_ALONE, self._namespace)
            row = await connection.fetchrow(_CLAIM, self._namespace, most_running, token, lease_s)
        if row is None:
            return None
        return Claim(
            attempt_id=row["attempt_id"], token=token, duty=row["duty"], order=json.loads(row["asked"])
        )

    async def renew(self, tokens: Mapping[str, str], *, lease_s: float) -> Mapping[str, Hold]:
        """As `Store.renew`."""
        rows = await self._pool.fetch(_RENEW, self._namespace, list(tokens), list(tokens.values()), lease_s)
        held: dict[str, Hold] = {
            row["attempt_id"]: "cancelled" if row["is_cancelled"] else "held" for row in rows
        }
        return {attempt_id: held.get(attempt_id, "lost") for attempt_id in tokens}

    async def append(self, claim: Claim, event: Event) -> None:
        """As `Store.append`."""
        async with self._pool.acquire() as connection:
            await self._append(connection, claim, event)

    async def finish(self, claim: Claim, event: Event | None, error: RouteError | None) -> None:
        """As `Store.finish`."""
        async with self._pool.acquire() as connection, connection.transaction():
            if event is not None:
                await self._append(connection, claim, event)
            ended = await connection.fetchval(
                _FINISH,
                self._namespace,
                claim.attempt_id,
                claim.token,
                "refused" if error else "done",
                json.dumps(error.wire()) if error else None,
            )
            if ended is None:
                raise LeaseLost

    async def read(self, attempt_id: str, cursor: int, *, most: int, max_bytes: int) -> StoredEvents | None:
        """As `Store.read`."""
        async with self._pool.acquire() as connection:
            # The state first: events that come in between belong to a later look.
            stands = await connection.fetchrow(_STANDS, self._namespace, attempt_id)
            if stands is None:
                return None
            rows = await connection.fetch(_READ, self._namespace, attempt_id, cursor, most, max_bytes)
        sized = ((row["cursor"], json.loads(row["event"]), len(row["event"].encode())) for row in rows)
        error = RouteError.of_wire(json.loads(stands["error"])) if stands["error"] else None
        return StoredEvents(
            events=fitting(sized, most, max_bytes), state=cast(State, stands["state"]), error=error
        )

    async def cancel(self, attempt_id: str) -> State | None:
        """As `Store.cancel`."""
        return cast(State | None, await self._pool.fetchval(_CANCEL, self._namespace, attempt_id))

    async def forget(self, *, ended_s_ago: float) -> None:
        """As `Store.forget`."""
        await self._pool.execute(_FORGET, self._namespace, ended_s_ago)

    async def _append(self, connection: Any, claim: Claim, event: Event) -> None:
        kept = await connection.fetchval(
            _APPEND, self._namespace, claim.attempt_id, claim.token, json.dumps(event)
        )
        if kept is None:
            raise LeaseLost

    @property
    def _pool(self) -> Pool:
        if self._opened is None:
            raise RuntimeError("the store is not open")
        return self._opened
