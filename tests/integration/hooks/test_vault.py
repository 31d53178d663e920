"""One key and one nonce for a run, whoever asks first."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest

from parley.server.hooks.vault import HookVault, RunGone
from parley.server.kit.ids import new_id
from tests.factories.accounts import make_tenant
from tests.stage import Stage

ROLL = "/api/v1/account/hook-key/roll"


@pytest.fixture
async def run_id(stage: Stage) -> UUID:
    """A run that waits."""
    return UUID((await stage.start(await stage.make_test()))[-36:])


def vault_of(stage: Stage) -> HookVault:
    return HookVault(stage.services.database, stage.services.keyring)


async def test_workers_that_ask_at_the_same_time_show_the_same(stage: Stage, run_id: UUID) -> None:
    await stage.http.post(ROLL)
    account_id = stage.tenant.account_id
    shown = await asyncio.gather(*(vault_of(stage).credentials_of(account_id, run_id) for _ in range(4)))
    assert shown[0] is not None
    assert len({each.nonce for each in shown if each}) == 1
    await stage.http.post(ROLL)
    assert await vault_of(stage).credentials_of(account_id, run_id) == shown[0]


async def test_run_that_began_without_a_key_stays_without(stage: Stage, run_id: UUID) -> None:
    account_id = stage.tenant.account_id
    assert await vault_of(stage).credentials_of(account_id, run_id) is None
    await stage.http.post(ROLL)
    assert await vault_of(stage).credentials_of(account_id, run_id) is None


async def test_runs_that_are_gone_or_foreign_have_none(stage: Stage, run_id: UUID) -> None:
    stranger = await make_tenant(stage.services.database, "Stranger")
    await stage.http.post(ROLL, headers=stranger.auth)
    for account_id, one in ((stage.tenant.account_id, new_id()), (stranger.account_id, run_id)):
        with pytest.raises(RunGone):
            await vault_of(stage).credentials_of(account_id, one)
    assert await stage.rows("SELECT 1 AS one FROM hook_credentials") == []


async def test_first_rolls_at_the_same_time_leave_one_key(stage: Stage) -> None:
    answers = await asyncio.gather(*(stage.http.post(ROLL) for _ in range(5)))
    assert [each.status_code for each in answers] == [200] * 5
    assert len({each.json()["data"]["key"] for each in answers}) == 5
    assert len(await stage.rows("SELECT sealed_key FROM hook_keys")) == 1
