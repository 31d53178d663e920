"""Shared fixtures: servers, a database of one's own, the app in memory and over a socket.

A test that asks for `database` gets a migrated, empty one: each worker process of a run has its own
database and empties it before the test. Redis keys carry a prefix of the test's own.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import httpx
import pytest
import structlog
from fastapi import FastAPI
from hypothesis import settings as hypothesis_settings
from pydantic import SecretStr

from parley.server.api.app import create_app
from parley.server.api.serve import server_of
from parley.server.config import (
    ApiSettings,
    DatabaseSettings,
    LlmSettings,
    LogSettings,
    OutboundSettings,
    ProfileSettings,
    RedisSettings,
    RetentionSettings,
    RunSettings,
    SecretSettings,
    Settings,
    SmtpSettings,
    WorkerSettings,
)
from parley.server.db import migrate
from parley.server.db.database import Database
from parley.server.db.tables import Table
from parley.server.ops.local.shared_servers import Servers
from parley.server.wiring import Services, open_services
from tests.factories.accounts import Tenant, make_tenant
from tests.listening import listening
from tests.servers import running_servers

SECRET_KEY = "a secret key for tests, long enough"
_EMPTY_ALL = ";".join(
    f'DELETE FROM "{table.name}"' for table in reversed(Table.metadata.sorted_tables) if table.name != "plans"
)

# How long an example takes says more about the machine than about the code.
hypothesis_settings.register_profile("untimed", deadline=None)
hypothesis_settings.load_profile("untimed")


@pytest.fixture(scope="session", autouse=True)
def plain_logs() -> None:
    """Logs go through the standard library, so that `caplog` has them, and never render frames."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """Postgres and Redis."""
    with running_servers() as found:
        yield found


@pytest.fixture(scope="session")
def template(servers: Servers, worker_id: str) -> Iterator[str]:
    """The name of a migrated database, made once per worker process and never connected to again."""
    name = f"parley_template_{worker_id}_{os.getpid()}"
    asyncio.run(_execute(servers, f'CREATE DATABASE "{name}"'))
    migrate.upgrade(database_url_on(servers, name))
    yield name
    asyncio.run(_execute(servers, f'DROP DATABASE "{name}" WITH (FORCE)'))


@pytest.fixture(scope="session")
def worker_database_url(servers: Servers, template: str, worker_id: str) -> Iterator[str]:
    """The address of the database that the tests of one worker process use one after another."""
    name = f"parley_worker_{worker_id}_{os.getpid()}"
    asyncio.run(_execute(servers, f'CREATE DATABASE "{name}" TEMPLATE "{template}"'))
    yield database_url_on(servers, name)
    asyncio.run(_execute(servers, f'DROP DATABASE "{name}" WITH (FORCE)'))


@pytest.fixture
async def database_url(worker_database_url: str) -> str:
    """The address of a migrated database that is empty but for the plans.

    A test that changes plans or tables overrides this with `fresh_database_url`.
    """
    connection = await asyncpg.connect(worker_database_url, timeout=10)
    try:
        await connection.execute("SET lock_timeout = '5s';" + _EMPTY_ALL)
    finally:
        await connection.close()
    return worker_database_url


@pytest.fixture
async def fresh_database_url(servers: Servers, template: str) -> AsyncIterator[str]:
    """The address of a database of this test's alone."""
    name = f"parley_test_{uuid.uuid4().hex[:16]}"
    await _execute(servers, f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    yield database_url_on(servers, name)
    await _execute(servers, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def settings(servers: Servers, database_url: str) -> Settings:
    """Settings over the test's own database; everything else as shipped, whatever the environment says."""
    return settings_for(servers, database_url)


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[Services]:
    """What the shells build from settings."""
    async with open_services(settings) as opened:
        yield opened


@pytest.fixture
def database(services: Services) -> Database:
    """The test's own database."""
    return services.database


@pytest.fixture
def app(services: Services) -> FastAPI:
    """The API."""
    return create_app(services)


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the API in memory, without a key: pass `headers=tenant.auth`."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://api.test") as found:
        yield found


@pytest.fixture
async def tenant(database: Database) -> Tenant:
    """An account with credit, a private and a public key."""
    return await make_tenant(database, "Owner")


@pytest.fixture
async def stranger(database: Database) -> Tenant:
    """Another account of the same kind."""
    return await make_tenant(database, "Stranger")


@dataclass(frozen=True, slots=True)
class LiveServer:
    """The API over a real socket."""

    url: str
    services: Services


@pytest.fixture
async def live_server(services: Services) -> AsyncIterator[LiveServer]:
    """The API served by uvicorn in this loop, on a free port of 127.0.0.1."""
    async with serving(services) as url:
        yield LiveServer(url, services)


@contextlib.asynccontextmanager
async def serving(services: Services) -> AsyncIterator[str]:
    """Serve the API while the block runs; gives its address."""
    async with listening(server_of(services)) as url:
        yield url


def settings_for(servers: Servers, database_url: str) -> Settings:
    """Settings that depend on nothing but these two."""
    return Settings(
        database=DatabaseSettings(url=SecretStr(database_url), pool_size=5, pool_overflow=5),
        redis=RedisSettings(url=SecretStr(servers.redis_url), prefix=f"parley-test-{uuid.uuid4().hex[:12]}"),
        secret=SecretSettings(keys=(SecretStr(SECRET_KEY),)),
        api=ApiSettings(port=0),
        llm=LlmSettings(base_url="http://127.0.0.1:9/v1"),
        profile=ProfileSettings(low_user="user", low_judge="judge"),
        outbound=OutboundSettings(allowed_networks=("127.0.0.0/8",)),
        worker=WorkerSettings(),
        run=RunSettings(),
        smtp=SmtpSettings(),
        retention=RetentionSettings(),
        log=LogSettings(),
    )


def database_url_on(servers: Servers, name: str) -> str:
    """The address of the database `name` on the test server."""
    return urlunsplit(urlsplit(servers.postgres_url)._replace(path=f"/{name}"))


async def _execute(servers: Servers, statement: str) -> None:
    connection = await asyncpg.connect(servers.postgres_url, timeout=10)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
