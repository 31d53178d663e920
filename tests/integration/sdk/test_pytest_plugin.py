"""The pytest plugin in a customer's project."""

from __future__ import annotations

import sys
from xml.etree import ElementTree

from parley.server.llm.demo import Rule, Status, opinion
from tests.integration.sdk.conftest import Ran, Shell
from tests.stage import Stage

FIELDS = {"profile": "low", "max_turns": 2}
PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-W", "error", "--strict-markers")
ASYNCIO = ("-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function")


async def run_pytest(shell: Shell, code: str, *words: str, **extra: str) -> Ran:
    (shell.folder / "test_agent.py").write_text(f"import pytest\n\n{code}")
    return await shell.run(*PYTEST, *ASYNCIO, *words, "test_agent.py", **extra)


MARKED = """
@pytest.mark.parley(test="Boots", repetitions=4, min_pass_rate={wanted})
def test_boots(parley_runs):
    assert len(parley_runs.runs) == 4
    assert parley_runs.pass_rate == 0.5
"""


async def test_the_share_of_successes_decides(stage: Stage, shell: Shell) -> None:
    async with stage.worker():
        await stage.make_test(name="Boots", **FIELDS)
        stage.play(Rule((opinion(0.95),), part="judge", times=2), Rule((opinion(0.4),), part="judge"))
        passed = await run_pytest(shell, MARKED.format(wanted=0.5), "--junitxml=j.xml")
        stage.play(Rule((opinion(0.95),), part="judge", times=2), Rule((opinion(0.4),), part="judge"))
        failed = await run_pytest(shell, MARKED.format(wanted=0.75))
    assert passed.code == 0, passed.out
    names = [one.get("name") for one in ElementTree.parse(shell.folder / "j.xml").iter("property")]
    assert names == ["parley_run"] * 4
    assert failed.code == 1
    assert "2 of 4 runs passed, wanted 75%" in failed.out
    assert "1 failed" in failed.out


async def test_what_the_body_says_counts_too(stage: Stage, shell: Shell) -> None:
    code = '@pytest.mark.parley(test="Boots")\nasync def test_it(parley_runs):\n    assert not parley_runs\n'
    stage.play(Rule((opinion(0.95),), part="judge"))
    async with stage.worker():
        await stage.make_test(name="Boots", **FIELDS)
        ran = await run_pytest(shell, code)
    assert (ran.code, "1 failed" in ran.out) == (1, True), ran.out


async def test_a_gateway_that_fails_is_a_failure_and_a_judge_that_fails_an_error(
    stage: Stage, shell: Shell
) -> None:
    code = '@pytest.mark.parley(test="Boots")\ndef test_it(): ...\n'
    away = Status(401)
    async with stage.worker():
        await stage.make_test(name="Boots", **FIELDS)
        stage.play(Rule((away,), part="assistant"))
        gateway = await run_pytest(shell, code)
        stage.play(Rule((away,), part="judge"))
        judge = await run_pytest(shell, code)
    assert "1 failed" in gateway.out, gateway.out
    assert "1 error" in judge.out, judge.out
    assert "0 of 1 runs can be judged" in judge.out


async def test_without_a_service_a_marked_test_is_an_error_in_one_sentence(shell: Shell) -> None:
    code = '@pytest.mark.parley(test="Boots")\ndef test_it(): ...\n\n\ndef test_other(): ...\n'
    ran = await run_pytest(shell, code, PARLEY_API_KEY="")
    assert "1 passed, 1 error" in ran.out
    assert "Set PARLEY_API_KEY" in ran.out
    assert "Traceback" not in ran.out
