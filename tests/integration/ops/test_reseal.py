"""A key is rotated: a new one in front, everything sealed again, the old one dropped."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest
from pydantic import SecretStr
from sqlalchemy import LargeBinary
from typer.testing import CliRunner

from parley.sdk.cli import build_app
from parley.server.config import SecretSettings, Settings
from parley.server.db.tables import Table
from parley.server.ops.reseal import SEALED_COLUMNS
from parley.server.wiring import open_services
from tests.factories.remote_apps import APP_BODY
from tests.receivers import receiving
from tests.stage import Stage, hurried, make_gateway
from tests.stage import stage as stage

OLD_KEY = "an older key for tests that is long enough"
NEW_KEY = "a newer key for tests that is long enough"
GATEWAY_KEY = "customers-key-canary"
TEAM = "team-header-canary"


@pytest.fixture
def stage_settings(settings: Settings) -> Settings:
    """Everything is sealed with the old key."""
    return under(hurried(settings), OLD_KEY)


async def reseal(settings: Settings, keys: str, *words: str) -> tuple[int, dict[str, int], str]:
    """Run the command; its exit code, what it counted, and what it complained of."""
    environment = {
        "PARLEY_DATABASE_URL": settings.database.url.get_secret_value(),
        "PARLEY_SECRET_KEYS": keys,
    }
    result = await asyncio.to_thread(
        CliRunner().invoke, build_app(), ["secrets", "reseal", *words], env=environment
    )
    counted = [line.split()[:2] for line in result.stdout.splitlines()]
    return result.exit_code, {name: int(count) for count, name in counted}, result.stderr


def under(settings: Settings, *keys: str) -> Settings:
    """The same service with other keys."""
    return dataclasses.replace(settings, secret=SecretSettings(keys=tuple(map(SecretStr, keys))))


async def furnish(stage: Stage, hook_url: str) -> str:
    """One secret in every sealed column; gives a test whose runs use them."""
    await stage.http.post("/api/v1/account/hook-key/roll")
    await stage.http.post("/api/v1/channels", json={"name": "On call", "url": "https://example.com/in"})
    await stage.http.post("/api/v1/apps", json=APP_BODY)
    gateway = await make_gateway(stage.http, stage.llms, api_key=GATEWAY_KEY, headers={"X-Team": TEAM})
    hooks = [{"event": "before-test", "url": hook_url}]
    return await stage.make_test(gateway=gateway["slug"], hooks=hooks, max_turns=2)


async def test_rotated_key_opens_everything_and_the_old_one_is_not_missed(stage: Stage) -> None:
    async with receiving() as receiver:
        test_id = await furnish(stage, receiver.url("/hook"))
        async with stage.worker():
            await stage.finished(await stage.start(test_id))
        waiting = await stage.start(test_id)
        every = {f"{one.table}.{one.column}": 1 for one in SEALED_COLUMNS}
        both = f"{NEW_KEY},{OLD_KEY}"
        assert (await reseal(stage.settings, both, "--dry-run"))[:2] == (0, every)
        assert (await reseal(stage.settings, both))[:2] == (0, every)
        assert (await reseal(stage.settings, both))[:2] == (0, dict.fromkeys(every, 0))
        stage.llms.reset()
        async with stage.worker(under(stage.settings, NEW_KEY)):
            run = await stage.finished(waiting)
        first, second = receiver.at("/hook")
    assert run["state"] == "succeeded", run["error"]
    asked = [one.headers for one in stage.llms.requests if one.llm == "assistant"]
    assert {(one["authorization"], one["x-team"]) for one in asked} == {(f"Bearer {GATEWAY_KEY}", TEAM)}
    assert first.headers.keys() == second.headers.keys(), "the second call is signed like the first"


async def test_secret_that_no_key_opens_is_named_and_left(stage: Stage) -> None:
    async with receiving() as receiver:
        await furnish(stage, receiver.url("/hook"))
    stored = await stage.rows("SELECT sealed_api_key FROM ai_gateways WHERE sealed_api_key IS NOT NULL")
    code, counted, complaint = await reseal(stage.settings, NEW_KEY)
    assert (code, set(counted.values())) == (1, {0})
    assert "no key opens the api_key of ai_gateways" in complaint
    left = await stage.rows("SELECT sealed_api_key FROM ai_gateways WHERE sealed_api_key IS NOT NULL")
    assert left == stored


async def test_many_rows_are_sealed_again_in_batches(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parley.server.ops.reseal.BATCH", 2)
    for number in range(5):
        await make_gateway(stage.http, stage.llms, name=f"Shop {number}", api_key=f"key-{number}")
    _, counted, _ = await reseal(stage.settings, f"{NEW_KEY},{OLD_KEY}")
    assert counted["ai_gateways.sealed_api_key"] == 5
    async with open_services(under(stage.settings, NEW_KEY)) as services:
        rows = await stage.rows("SELECT account_id, id, name FROM ai_gateways WHERE name LIKE 'Shop _'")
        for row in rows:
            target = await services.maker._vault.secrets_of(row["account_id"], row["id"])
            assert target is not None
            assert target.api_key == f"key-{row['name'][-1]}"
    assert len(rows) == 5


def test_every_sealed_column_of_every_table_is_known() -> None:
    stored = {
        (table.name, column.name)
        for table in Table.metadata.sorted_tables
        for column in table.columns
        if isinstance(column.type, LargeBinary) and column.name.startswith("sealed")
    }
    assert stored == {(one.table, one.column) for one in SEALED_COLUMNS}
