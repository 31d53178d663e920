"""`parley suites` against the real service."""

from __future__ import annotations

import json

from parley.sdk import AsyncClient
from tests.integration.sdk.conftest import Shell
from tests.integration.suites.scene import make_suite, make_tests, plays
from tests.stage import Stage


async def test_suite_is_run_by_name_and_its_verdict_is_the_exit_code(stage: Stage, shell: Shell) -> None:
    stage.play(*plays())
    await make_suite(stage, await make_tests(stage, "win", "win 2"), name="Good")
    await make_suite(stage, await make_tests(stage, "win", "LOSE"), name="Mixed")
    async with stage.worker():
        good = await shell.parley("suites", "run", "Good", "--repetitions", "2", "--json")
        mixed = await shell.parley("suites", "run", "Mixed", "--min-pass-rate", "0.9", "--json")
    assert good.code == 0, good.err
    told = json.loads(good.out)
    assert (told["state"], told["verdict"], told["repetitions"]) == ("completed", "passed", 2)
    assert mixed.code == 1, mixed.err
    assert json.loads(mixed.out)["verdict"] == "failed"


async def test_suites_are_listed(stage: Stage, shell: Shell, sdk: AsyncClient) -> None:
    suite = await make_suite(stage, await make_tests(stage, "win"), name="Good")
    listed = await shell.parley("suites", "list")
    assert listed.out.split() == [suite, "Good"]
    assert (await sdk.suites.get(suite)).name == "Good"
