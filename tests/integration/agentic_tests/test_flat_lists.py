"""Lists that look for something rare: their plans over many rows, with and without trigrams."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID, uuid4

import asyncpg
import pytest
from sqlalchemy import event

from parley.server.agentic_tests import service as tests_service
from parley.server.db import migrate
from parley.server.db.database import Database
from parley.server.db.tables.runs import STATES
from parley.server.kit.ids import new_id
from parley.server.kit.paging import Paging
from parley.server.ops.local.shared_servers import Servers
from parley.server.runs import service as runs_service
from tests.conftest import database_url_on
from tests.factories.accounts import Tenant, make_tenant
from tests.factories.agentic_tests import INTEGRATED, make_agentic_test

LARGE = 20_000
_RUNS = """
INSERT INTO runs (account_id, id, test_id, state, trigger, revision, seed, definition)
SELECT $1, id, $2, 'succeeded', 'manual', 'r', 1, '{}' FROM unnest($3::uuid[]) AS made(id)
"""
_TESTS = """
INSERT INTO agentic_tests (account_id, id, name, integrated_llm, fields)
SELECT account_id, made.id, 'Refund ' || number, integrated_llm, fields
  FROM agentic_tests AS main, unnest($2::uuid[]) WITH ORDINALITY AS made(id, number) WHERE main.id = $1
"""
# Ten runs each: what a plan for any test takes for granted.
_OTHERS = """
INSERT INTO runs (account_id, id, test_id, state, trigger, revision, seed, definition)
SELECT $1, gen_random_uuid(), tests.id, 'succeeded', 'manual', 'r', 1, '{}'
  FROM (SELECT id FROM agentic_tests WHERE account_id = $1 LIMIT 2000) AS tests, generate_series(1, 10)
"""


@pytest.fixture
async def main_test(database: Database, tenant: Tenant) -> UUID:
    """One test of twenty thousand, with as many runs that all succeeded."""
    main = await make_agentic_test(database, tenant.scope, INTEGRATED)
    async with database.raw() as connection:
        await connection.execute(_TESTS, main, [new_id() for _ in range(LARGE)])
        await connection.execute(_OTHERS, tenant.account_id)
        await connection.execute(_RUNS, tenant.account_id, main, [new_id() for _ in range(LARGE)])
        await connection.execute("ANALYZE")
    return main


@contextlib.contextmanager
def statements_of(database: Database) -> Iterator[list[tuple[str, tuple[Any, ...]]]]:
    """What is sent to the server within the block."""
    sent: list[tuple[str, tuple[Any, ...]]] = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        sent.append((statement, tuple(values)))

    event.listen(database.engine.sync_engine, "before_cursor_execute", note)
    yield sent
    event.remove(database.engine.sync_engine, "before_cursor_execute", note)


async def plan_of(database: Database, statement: str, values: tuple[Any, ...], mode: str) -> str:
    """The plan of a prepared statement in this `plan_cache_mode`, really carried out."""
    shown = ", ".join(str(value) if isinstance(value, int) else f"'{value}'" for value in values)
    async with database.raw() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute(f"SET LOCAL plan_cache_mode = {mode}")
        await connection.execute(f"PREPARE asked AS {statement}")
        found = await connection.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE asked({shown})")
        await connection.execute("DEALLOCATE asked")
        await transaction.rollback()
    return json.dumps(found)


async def test_page_of_one_state_uses_that_states_index_in_every_plan(
    database: Database, tenant: Tenant, main_test: UUID
) -> None:
    for state in STATES:
        with statements_of(database) as sent:
            async with database.session() as session:
                rows, _ = await runs_service.listed(session, tenant.scope, main_test, state, Paging())
        assert len(rows) == (50 if state == "succeeded" else 0)
        ((statement, values),) = sent
        # Any index over open runs alone: there are few of them.
        index = (
            r"ix_runs_(test_open|open|waiting|slots)"
            if state in ("pending", "running")
            else f"ix_runs_test_{state}"
        )
        for mode in ("force_generic_plan", "force_custom_plan"):
            plan = await plan_of(database, statement, values, mode)
            assert re.search(f'"{index}"', plan), (mode, plan)
            assert not re.search('"Rows Removed by Filter": [1-9]', plan), (mode, plan)


@pytest.mark.usefixtures("main_test")
async def test_search_without_a_hit_looks_trigrams_up(database: Database, tenant: Tenant) -> None:
    with statements_of(database) as sent:
        async with database.session() as session:
            found, _ = await tests_service.listed(
                session, tenant.scope, Paging(), search="nowhere", gateway=None
            )
    assert found == []
    (mode, _), (statement, values) = sent
    assert mode == "SET LOCAL plan_cache_mode = force_custom_plan"
    plan = await plan_of(database, statement, values, "force_custom_plan")
    assert '"ix_agentic_tests_name"' in plan, plan


async def test_search_finds_parts_in_any_case_and_takes_wildcards_as_they_stand(
    database: Database, tenant: Tenant, stranger: Tenant
) -> None:
    assert await found_by_parts(database, tenant, stranger) == EXPECTED


NAMES = ("Refund 100%", "refund_now", "Straße", "Ärger", "日本語の返品", "a")
PARTS = ("REFUND", "100%", "d_n", "%", "ße", "ärg", "本語", "の返品", "a", "/", "nowhere")
EXPECTED = {
    "REFUND": ["Refund 100%", "refund_now"],
    "100%": ["Refund 100%"],
    "d_n": ["refund_now"],
    "%": ["Refund 100%"],
    "ße": ["Straße"],
    "ärg": ["Ärger"],
    "本語": ["日本語の返品"],
    "の返品": ["日本語の返品"],
    "a": ["Straße", "a"],
    "/": [],
    "nowhere": [],
}


async def found_by_parts(database: Database, tenant: Tenant, stranger: Tenant) -> dict[str, list[str]]:
    """For each part the names it finds, oldest first, with another account's namesakes beside them."""
    for name in NAMES:
        for owner in (tenant, stranger):
            await make_agentic_test(database, owner.scope, INTEGRATED, name=name)
    found = {}
    for part in PARTS:
        async with database.session() as session:
            rows, _ = await tests_service.listed(session, tenant.scope, Paging(), search=part, gateway=None)
        found[part] = [one.row.name for one in reversed(rows)]
    return found


@pytest.fixture
async def plain_url(servers: Servers) -> AsyncIterator[str]:
    """A database whose owner of tables may not make an extension."""
    name, role = f"parley_plain_{uuid4().hex[:12]}", f"plain_{uuid4().hex[:12]}"
    admin = await asyncpg.connect(servers.postgres_url)
    await admin.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'plain'")
    await admin.execute(f"CREATE DATABASE {name}")
    inside = await asyncpg.connect(database_url_on(servers, name))
    await inside.execute(f"GRANT ALL ON SCHEMA public TO {role}")
    await inside.close()
    split = urlsplit(database_url_on(servers, name))
    yield urlunsplit(split._replace(netloc=f"{role}:plain@{split.netloc.rpartition('@')[2]}"))
    await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await admin.execute(f"DROP ROLE {role}")
    await admin.close()


async def test_database_that_refuses_the_extension_migrates_and_searches_alike(plain_url: str) -> None:
    await _migrated(plain_url)
    database = Database(plain_url)
    try:
        async with database.raw() as connection:
            indexes = await connection.fetch("SELECT indexname FROM pg_indexes WHERE indexname LIKE 'ix_%'")
            extensions = await connection.fetch("SELECT extname FROM pg_extension")
        assert "ix_agentic_tests_name" not in {row["indexname"] for row in indexes}
        assert "pg_trgm" not in {row["extname"] for row in extensions}
        owner, stranger = [await make_tenant(database, name) for name in ("Owner", "Stranger")]
        assert await found_by_parts(database, owner, stranger) == EXPECTED
    finally:
        await database.close()


async def test_extension_in_another_schema_is_used(plain_url: str, servers: Servers) -> None:
    admin = await asyncpg.connect(database_url_on(servers, urlsplit(plain_url).path[1:]))
    await admin.execute('CREATE SCHEMA "Else where"; CREATE EXTENSION pg_trgm SCHEMA "Else where"')
    await admin.execute(f'GRANT USAGE ON SCHEMA "Else where" TO {urlsplit(plain_url).username}')
    await _migrated(plain_url)
    definition = await admin.fetchval(
        "SELECT indexdef FROM pg_indexes WHERE indexname = 'ix_agentic_tests_name'"
    )
    await admin.close()
    assert '"Else where".gin_trgm_ops' in definition


async def _migrated(url: str) -> None:
    await asyncio.to_thread(migrate.upgrade, url)
    assert await migrate.current(url) == migrate.head()
