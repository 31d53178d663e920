"""`parley run` as a process: what it shows, what it writes, how it ends."""

from __future__ import annotations

import asyncio
import json
import signal
from xml.etree import ElementTree

import pytest

from parley.server.llm.demo import Hang, Rule, Say, Status, opinion
from tests.integration.sdk.conftest import PARLEY, Shell
from tests.stage import Stage, until

FIELDS = {"profile": "low", "max_turns": 3, "seed": 7}


@pytest.mark.parametrize(
    ("rules", "outcome", "code"),
    [
        ((Rule((opinion(0.95),), part="judge"),), "success", 0),
        ((Rule((opinion(0.05),), part="judge"),), "loss", 1),
        ((Rule((opinion(0.5),), part="judge"),), "incomplete", 1),
        ((Rule((Status(401),), part="assistant"),), None, 1),
    ],
)
async def test_the_exit_code_says_how_the_agent_behaved(
    stage: Stage, shell: Shell, rules: tuple[Rule, ...], outcome: str | None, code: int
) -> None:
    stage.play(*rules)
    async with stage.worker():
        await stage.make_test(**FIELDS)
        ran = await shell.parley("run", "Boots", "--json", "--seed", "11")
    run = json.loads(ran.out)
    assert (ran.code, run["outcome"], run["seed"]) == (code, outcome, 11), ran.err


async def test_watching_shows_who_says_what_the_scores_and_the_verdict(stage: Stage, shell: Shell) -> None:
    steering = "Of course.\x1b[2J You may send them back [bold]for free[/bold]."
    stage.play(
        Rule((Say("Can I send them back?"),), part="user"),
        Rule((Say(steering),), part="assistant"),
        Rule((opinion(0.95, "All is settled."),), part="judge"),
    )
    async with stage.worker():
        test_id = await stage.make_test(**FIELDS)
        ran = await shell.parley("run", test_id, "--watch")
    text = " ".join(ran.out.split())
    for words in (
        "user Can I send them back?",
        "gateway Of course.[2J You may send them back [bold]for free[/bold].",
        "judge 0.95 █ All is settled.",
        "verdict ✓ success: baseline reached, turn 1",
    ):
        assert words in text
    assert "\x1b" not in ran.out
    assert max(len(line) for line in ran.out.splitlines()[:-1]) <= 90


async def test_json_stands_alone_on_stdout_while_people_watch(stage: Stage, shell: Shell) -> None:
    async with stage.worker():
        await stage.make_test(**FIELDS)
        ran = await shell.parley("run", "Boots", "--watch", "--json")
    assert json.loads(ran.out)["state"] == "succeeded"
    assert "turn 3" in ran.err


async def test_reports_are_written_for_machines_and_for_github(stage: Stage, shell: Shell) -> None:
    stage.play(Rule((opinion(0.05, "It lied."),), part="judge"))
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(shell.folder / "summary.md")}
    async with stage.worker():
        await stage.make_test(**FIELDS)
        ran = await shell.parley(
            "run", "Boots", "--junit", "out/j.xml", "--markdown", "out/m.md", "--json", **github
        )
    assert ran.code == 1
    json.loads(ran.out)
    suite = ElementTree.fromstring((shell.folder / "out/j.xml").read_text())[0]
    assert (suite.get("failures"), suite.get("errors"), suite[0].get("name")) == ("1", "0", "Boots")
    assert "❌ failed: Boots" in (shell.folder / "out/m.md").read_text()
    assert (shell.folder / "summary.md").read_text().startswith((shell.folder / "out/m.md").read_text())
    assert "::error title=parley%3A Boots::loss_threshold_persisted" in ran.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_ctrl_c_cancels_the_run_and_says_so(stage: Stage, shell: Shell, number: signal.Signals) -> None:
    stage.play(Rule((Hang(0),), part="assistant"))
    async with stage.worker():
        test_id = await stage.make_test(**FIELDS)
        process = await shell.start(*PARLEY, "run", test_id)
        await until(lambda: stage.llms.stats.by_llm.get("assistant") == 1)
        process.send_signal(number)
        async with asyncio.timeout(15):
            _, err = await process.communicate()
        [run] = (await stage.http.get(f"/api/v1/agentic-tests/{test_id}/runs")).json()["data"]
        # The command asks for the cancellation and leaves; the worker closes the inference after.
        run = await stage.finished(f"/api/v1/agentic-tests/{test_id}/runs/{run['id']}")
    assert process.returncode == 130, err
    assert f"Cancelled run {run['id']}." in err.decode()
    assert run["state"] == "cancelled"


async def test_what_cannot_be_decided_ends_with_2_and_a_sentence(stage: Stage, shell: Shell) -> None:
    await stage.make_test(**FIELDS)
    await stage.make_test(**FIELDS)
    for words, extra, sentence in (
        (("run", "No such"), {}, "No test is called 'No such'."),
        (("run", "Boots"), {}, "2 tests are called 'Boots'; name one by its id: "),
        (("run", "Boot"), {}, "No test is called 'Boot'; there is 'Boots'."),
        (
            ("whoami",),
            {"PARLEY_API_KEY": "sk-par-wrong"},
            "unknown, expired or revoked. Check PARLEY_API_KEY",
        ),
        (("whoami",), {"PARLEY_API_KEY": ""}, "Set PARLEY_API_KEY"),
        (("whoami",), {"PARLEY_URL": "http://127.0.0.1:9"}, "Nothing answers at http://127.0.0.1:9"),
    ):
        ran = await shell.parley(*words, **extra)
        assert (ran.code, ran.out) == (2, ""), ran
        assert sentence in ran.err
        assert "Traceback" not in ran.err
