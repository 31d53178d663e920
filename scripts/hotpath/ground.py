"""What the service stands on while it is measured: its own Postgres and Valkey, accounts, tests."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import asyncpg

from parley.server.ops.local.postgres import Postgres, PostgresPlan, start_postgres
from parley.server.ops.local.prepare import prepare
from parley.server.ops.local.valkey import Valkey, ValkeyPlan, start_valkey
from scripts.hotpath.meter import cpu_s_of_tree
from scripts.hotpath.scripted import ScriptedLlms
from scripts.hotpath.talk import JUDGE_LLM, USER_LLM

ACCOUNTS = 25
"""The plan max lets 8 runs of an account go at once, so that 200 take 25 accounts."""
CREDIT_USD = Decimal(1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Running servers, and the environment of the processes that use them."""

    folder: Path
    postgres: Postgres
    valkey: Valkey
    database_url: str
    environment: dict[str, str]
    keys: tuple[str, ...]
    """One private API key of each account."""

    def postgres_cpu_s(self) -> float:
        """CPU time of Postgres, all its processes."""
        return cpu_s_of_tree(self.postgres.child.pid)

    def valkey_cpu_s(self) -> float:
        """CPU time of Valkey."""
        return cpu_s_of_tree(self.valkey.child.pid)

    async def ask(self, question: str) -> asyncpg.Record:
        """One row of the database."""
        connection = await asyncpg.connect(self.database_url)
        try:
            row = await connection.fetchrow(question)
        finally:
            await connection.close()
        assert row is not None, "a question with one row"
        return row


@contextlib.contextmanager
def ground(folder: Path, llms: ScriptedLlms) -> Iterator[Ground]:
    """Start Postgres with its usual care for the disk, and Valkey; make tables, accounts and keys."""
    password = secrets.token_hex(16)
    with contextlib.ExitStack() as running:
        postgres = start_postgres(PostgresPlan(folder=folder, password=password))
        running.callback(postgres.stop)
        valkey = start_valkey(ValkeyPlan(folder=folder, password=password))
        running.callback(valkey.stop)
        url = postgres.url("bench")
        prepare(url, None)
        environment = {
            **_without_ours(),
            "PARLEY_DATABASE_URL": url,
            "PARLEY_REDIS_URL": valkey.url(),
            "PARLEY_SECRET_KEYS": secrets.token_hex(32),
            "PARLEY_OUTBOUND_ALLOWED_NETWORKS": "127.0.0.0/8",
            "PARLEY_API_REQUESTS_PER_MINUTE": "0",
            # 200 evaluations begin in the same instant; on a busy machine some wait longer than people would.
            "PARLEY_DATABASE_POOL_TIMEOUT_S": "30",
            "PARLEY_LLM_BASE_URL": llms.base_url,
            "PARLEY_PROFILE_LOW_USER": USER_LLM,
            "PARLEY_PROFILE_LOW_JUDGE": JUDGE_LLM,
        }
        keys = asyncio.run(_accounts(url))
        yield Ground(
            folder=folder,
            postgres=postgres,
            valkey=valkey,
            database_url=url,
            environment=environment,
            keys=keys,
        )


def _without_ours() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}


async def _accounts(url: str) -> tuple[str, ...]:
    from parley.server.accounts import service
    from parley.server.db.database import Database

    database, keys = Database(url), []
    try:
        for number in range(ACCOUNTS):
            async with database.session() as session:
                account = await service.create_account(session, f"Bench {number}", "max", CREDIT_USD)
                keys.append((await service.create_key(session, account.id, "bench", "private")).token)
    finally:
        await database.close()
    return tuple(keys)
