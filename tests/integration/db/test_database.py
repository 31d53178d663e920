"""Transactions, raw statements, and a database that goes away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
from sqlalchemy import exc, select, text

from parley.server.accounts.service import create_account
from parley.server.db.database import Database, PoolOptions, plain_url
from parley.server.db.tables import Account
from parley.server.errors import DatabaseAway
from tests.integration.db.cable import Cable


@pytest.fixture
async def cable(database_url: str) -> AsyncIterator[Cable]:
    """A way to the server that can be cut."""
    parts = urlsplit(database_url)
    async with Cable.to(parts.hostname or "", parts.port or 5432) as found:
        yield found


@pytest.fixture
async def cabled(cable: Cable, database_url: str) -> AsyncIterator[Database]:
    """A database behind the cable."""
    user = urlsplit(database_url).username
    url = urlunsplit(urlsplit(database_url)._replace(netloc=f"{user}@127.0.0.1:{cable.port}"))
    database = Database(url, PoolOptions(size=2, overflow=0, timeout_s=0.2, connect_timeout_s=1))
    yield database
    await database.close()


async def names(database: Database) -> set[str]:
    """All accounts."""
    async with database.session() as session:
        return set(await session.scalars(select(Account.name)))


async def test_end_of_the_block_commits(database: Database) -> None:
    async with database.session() as session:
        await create_account(session, "kept")
    assert await names(database) == {"kept"}


async def test_raising_rolls_everything_back(database: Database) -> None:
    done: list[str] = []

    async def say() -> None:
        done.append("ran")

    async def attempt() -> None:
        async with database.session() as session:
            await create_account(session, "lost")
            session.after_commit(say)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await attempt()
    assert await names(database) == set()
    assert done == []


async def test_actions_after_commit_see_what_was_committed(database: Database) -> None:
    seen: list[set[str]] = []

    async def look() -> None:
        seen.append(await names(database))

    async with database.session() as session:
        await create_account(session, "kept")
        session.after_commit(look)
        assert seen == []
    assert seen == [{"kept"}]


async def test_raw_statement_is_its_own_transaction(database: Database) -> None:
    async with database.raw() as connection:
        await connection.execute(
            "INSERT INTO accounts (id, name, plan) VALUES (gen_random_uuid(), 'a', 'free')"
        )
        assert not connection.is_in_transaction()
        assert await names(database) == {"a"}
        with pytest.raises(asyncpg.UniqueViolationError):
            await connection.execute("INSERT INTO plans SELECT * FROM plans")
        assert await connection.fetchval("SELECT count(*) FROM accounts") == 1


async def test_raw_connections_are_handed_on(database: Database) -> None:
    pids = set()
    for _ in range(3):
        async with database.raw() as connection:
            pids.add(await connection.fetchval("SELECT pg_backend_pid()"))
    assert len(pids) == 1


async def test_many_raw_blocks_at_once_stay_within_the_pool(database_url: str) -> None:
    database = Database(database_url, PoolOptions(size=4, overflow=0, timeout_s=5))

    async def work(number: int) -> int:
        async with database.raw() as connection:
            found: int = await connection.fetchval("SELECT $1::int FROM pg_sleep(0.005)", number)
            return found

    try:
        assert await asyncio.gather(*(work(number) for number in range(40))) == list(range(40))
        assert await names(database) == set()
    finally:
        await database.close()


async def test_forgotten_transaction_is_not_handed_on(database: Database) -> None:
    async with database.raw() as connection:
        await connection.execute("BEGIN")
        await connection.execute(
            "INSERT INTO accounts (id, name, plan) VALUES (gen_random_uuid(), 'a', 'free')"
        )
    async with database.raw() as connection:
        assert not connection.is_in_transaction()
        assert await connection.fetchval("SELECT count(*) FROM accounts") == 0


async def test_stopped_block_leaves_a_sound_connection(database: Database) -> None:
    async def work() -> None:
        async with database.raw() as connection:
            await connection.execute("SELECT pg_sleep(10)")

    task = asyncio.create_task(work())
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with database.raw() as connection:
        assert await connection.fetchval("SELECT 7") == 7


async def test_block_holds_no_connection_before_its_first_statement(database_url: str) -> None:
    database = Database(database_url, PoolOptions(size=1, overflow=0, timeout_s=0.2))
    try:
        async with database.session(), database.session() as inner:
            assert await inner.scalar(text("SELECT 1")) == 1
    finally:
        await database.close()


async def test_full_pool_is_a_database_away(database_url: str) -> None:
    database = Database(database_url, PoolOptions(size=1, overflow=0, timeout_s=0.1))
    try:
        async with database.raw():
            with pytest.raises(DatabaseAway):
                await names(database)
        assert await names(database) == set()
    finally:
        await database.close()


async def test_closed_port_is_a_database_away(unused_tcp_port: int) -> None:
    database = Database(f"postgresql://postgres@127.0.0.1:{unused_tcp_port}/x")
    with pytest.raises(DatabaseAway):
        await names(database)
    with pytest.raises(DatabaseAway):
        async with database.raw():
            pytest.fail("there is no connection")


async def test_missing_database_is_a_database_away(database_url: str) -> None:
    database = Database(urlunsplit(urlsplit(database_url)._replace(path="/there_is_none")))
    with pytest.raises(DatabaseAway):
        await names(database)


async def test_silent_server_is_given_up(cable: Cable, cabled: Database) -> None:
    assert await names(cabled) == set()
    cable.silence()
    with pytest.raises(DatabaseAway):
        await cabled.check(0.2)


async def test_cut_before_the_commit_leaves_nothing(
    cable: Cable, cabled: Database, database: Database
) -> None:
    async def attempt() -> None:
        async with cabled.session() as session:
            await create_account(session, "half-made")
            cable.cut()

    with pytest.raises(DatabaseAway):
        await attempt()
    assert await names(database) == set()
    cable.mend()
    await _until_back(cabled)
    assert await names(cabled) == set()


async def test_cut_under_a_raw_statement_is_a_database_away(cable: Cable, cabled: Database) -> None:
    async def attempt() -> None:
        async with cabled.raw() as connection:
            asyncio.get_running_loop().call_later(0.05, cable.cut)
            await connection.execute("SELECT pg_sleep(10)")

    with pytest.raises(DatabaseAway):
        await attempt()
    cable.mend()
    await _until_back(cabled)


async def test_statement_without_an_answer_is_a_database_away(
    cable: Cable, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley.server.db.database.ANSWER_PATIENCE_S", 0.1)
    user = urlsplit(database_url).username
    url = urlunsplit(urlsplit(database_url)._replace(netloc=f"{user}@127.0.0.1:{cable.port}"))
    database = Database(url, PoolOptions(statement_timeout_s=0.2, connect_timeout_s=0.2))

    async def raw() -> None:
        async with database.raw() as connection:
            await connection.execute("SELECT 1")

    await raw()
    await names(database)
    cable.silence()
    for work in (raw(), names(database)):
        with pytest.raises(DatabaseAway):
            await asyncio.wait_for(work, 5)
    async with asyncio.timeout(5):
        await database.close()


async def test_block_stopped_while_the_server_says_nothing_holds_nobody_up(
    cable: Cable, cabled: Database
) -> None:
    async def work() -> None:
        async with cabled.raw() as connection:
            cable.silence()
            await connection.execute("SELECT 1")

    task = asyncio.create_task(work())
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 1)
    cable.cut()
    cable.mend()
    async with asyncio.timeout(5), cabled.raw() as connection:
        assert await connection.fetchval("SELECT 7") == 7


async def test_server_that_says_farewell_is_a_database_away(database: Database) -> None:
    """Between its last words and the end of the connection a statement is refused by the driver."""
    translated = RuntimeError("what SQLAlchemy makes of it")
    translated.__cause__ = _farewell()
    with pytest.raises(DatabaseAway):
        async with database.raw():
            raise _farewell()
    with pytest.raises(DatabaseAway):
        async with database.session():
            raise exc.InternalError("SELECT 1", {}, translated)
    async with database.raw() as connection:
        assert await connection.fetchval("SELECT 7") == 7


def _farewell() -> Exception:
    return asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is in progress")


async def test_sessions_ended_by_the_server_are_replaced(database: Database, cabled: Database) -> None:
    """A restart of the server costs no request that comes after it."""
    assert await names(cabled) == set()
    async with cabled.raw() as connection:
        await connection.execute("SELECT 1")
    async with database.session() as session:
        await session.execute(
            text(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
    await asyncio.sleep(0.05)
    assert await names(cabled) == set()
    async with cabled.raw() as connection:
        assert await connection.fetchval("SELECT 7") == 7


@pytest.mark.parametrize(
    "state", ["25006", "25P03", "40001", "40P01", "53100", "53300", "57014", "57P03", "58030"]
)
async def test_what_passes_by_itself_is_a_database_away(database: Database, state: str) -> None:
    """A failover, a deadlock, a full disk, a slow statement: nothing that a run should end for."""
    raising = f"DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{state}'; END $$"
    with pytest.raises(DatabaseAway):
        async with database.session() as session:
            await session.execute(text(raising))
    with pytest.raises(DatabaseAway):
        async with database.raw() as connection:
            await connection.execute(raising)


async def test_wrong_statement_is_no_database_away(database: Database) -> None:
    with pytest.raises(Exception, match="no_such_table"):
        async with database.session() as session:
            await session.execute(text("SELECT * FROM no_such_table"))


async def test_long_statement_is_stopped(database_url: str) -> None:
    database = Database(database_url, PoolOptions(statement_timeout_s=0.1))
    try:
        with pytest.raises(DatabaseAway) as stopped:
            async with database.session() as session:
                await session.execute(text("SELECT pg_sleep(5)"))
        assert "statement timeout" in str(stopped.value.__cause__)
    finally:
        await database.close()


async def test_pooler_mode_keeps_no_statement_names(database_url: str) -> None:
    """C173."""
    database = Database(database_url, PoolOptions(pooler_mode=True))
    try:
        async with database.session() as session:
            for number in range(3):
                assert await session.scalar(text("SELECT CAST(:n AS int)"), {"n": number}) == number
            assert await session.scalar(text("SELECT count(*) FROM pg_prepared_statements")) <= 1
    finally:
        await database.close()


@pytest.mark.parametrize(
    "url",
    ["postgres://u@h/d", "postgresql://u@h/d", "postgresql+asyncpg://u@h/d", "postgresql+psycopg://u@h/d"],
)
def test_usual_addresses_are_taken(url: str) -> None:
    assert plain_url(url) == "postgresql://u@h/d"


@pytest.mark.parametrize("url", ["", "mysql://u@h/d", "localhost:5432"])
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="postgresql://"):
        plain_url(url)


async def _until_back(database: Database) -> None:
    for _ in range(5):
        try:
            await names(database)
        except DatabaseAway:
            continue
        return
    pytest.fail("the database did not come back")
