"""`parley tests` as a process: a file against the service."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.sdk.conftest import Shell
from tests.stage import Stage

FILE = """\
defaults:
  gateway: {gateway}
tests:
  - name: Boots
    goal: Find out whether the boots can be sent back.
    max_turns: 6
    user_sampling: {{top_k: 1}}
  - name: Tents
    goal: |
      You want to return a tent
      after two months.
"""


@pytest.fixture
def file(stage: Stage, shell: Shell) -> str:
    """The file in the shell's folder."""
    text = FILE.format(gateway=stage.gateway["slug"])
    (shell.folder / "tests.yaml").write_text(text)
    return text


async def stored(stage: Stage) -> dict[str, dict[str, Any]]:
    lines = (await stage.http.get("/api/v1/agentic-tests")).json()["data"]
    return {line["name"]: await stage.read(f"/api/v1/agentic-tests/{line['id']}") for line in lines}


@pytest.mark.usefixtures("file")
async def test_a_push_shows_first_and_changes_only_with_yes(stage: Stage, shell: Shell) -> None:
    test_id = await stage.make_test(metadata={"team": "shop"})
    shown = await shell.parley("tests", "push", "tests.yaml")
    assert (shown.code, "add --yes" in shown.err) == (1, True)
    assert "~ Boots\n    max_turns: 10 -> 6\n" in shown.out
    assert "+ Tents" in shown.out
    assert (await stored(stage)).keys() == {"Boots"}
    done = await shell.parley("tests", "push", "tests.yaml", "--yes")
    assert (done.code, "Changed Boots" in done.err, "Created Tents" in done.err) == (0, True, True)
    found = await stored(stage)
    assert (found["Boots"]["id"], found["Boots"]["max_turns"]) == (test_id, 6)
    assert found["Boots"]["metadata"] == {"team": "shop"}, "what the file does not say stays"
    assert found["Boots"]["user_sampling"] == {"top_k": 1.0, "max_decay": 0.02}
    assert found["Tents"]["goal"] == "You want to return a tent\nafter two months.\n"
    again = await shell.parley("tests", "diff", "tests.yaml")
    assert (again.code, again.out) == (0, "0 to create, 0 to change, 0 to delete, 2 unchanged.\n")


@pytest.mark.usefixtures("file")
async def test_nothing_is_deleted_without_prune(stage: Stage, shell: Shell) -> None:
    await stage.make_test(name="Spare")
    await shell.parley("tests", "push", "tests.yaml", "--yes")
    assert "Spare" in await stored(stage)
    shown = await shell.parley("tests", "diff", "tests.yaml", "--prune", "--json")
    assert [(one["kind"], one["name"]) for one in json.loads(shown.out)] == [
        ("same", "Boots"),
        ("same", "Tents"),
        ("delete", "Spare"),
    ]
    assert (await shell.parley("tests", "push", "tests.yaml", "--prune", "--yes")).code == 0
    assert (await stored(stage)).keys() == {"Boots", "Tents"}


async def test_one_wrong_test_keeps_all_from_changing(stage: Stage, shell: Shell, file: str) -> None:
    (shell.folder / "tests.yaml").write_text(file + "  - {name: Third, goal: x, max_turn: 3, profile: top}\n")
    ran = await shell.parley("tests", "push", "tests.yaml", "--yes")
    body = {"name": "Third", "gateway": stage.gateway["slug"], "goal": "x", "max_turn": 3, "profile": "top"}
    refused = (await stage.http.post("/api/v1/agentic-tests", json=body)).json()
    assert ran.code == 2
    for fault in refused["details"]:
        assert f"Third: {fault['field']}: {fault['problem']}" in ran.err
    assert await stored(stage) == {}


@pytest.mark.usefixtures("file")
async def test_what_is_pulled_changes_nothing_when_it_is_pushed(stage: Stage, shell: Shell) -> None:
    await stage.make_test(
        name="Everything",
        goal=[{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}],
        start=[{"role": "assistant", "content": "Hello: what is it?\n# a line"}],
        resources=[{"type": "Text", "data": "30 days"}],
        tool_mocks=[{"name": "find", "match": {"id": 7}, "result": "yes"}],
        metadata={"a": "1", "on": "no"},
        cron="0 7 * * *",
        seed=3,
        loss_threshold=0.25,
    )
    await shell.parley("tests", "push", "tests.yaml", "--yes")
    before = await stored(stage)
    kept = await shell.parley("tests", "pull", "tests.yaml")
    assert (kept.code, "add --yes" in kept.err) == (2, True)
    assert (await shell.parley("tests", "pull", "tests.yaml", "--yes")).code == 0
    assert "profile" not in (shell.folder / "tests.yaml").read_text(), "what is default is left out"
    pushed = await shell.parley("tests", "push", "tests.yaml")
    assert (pushed.code, pushed.out) == (0, "0 to create, 0 to change, 0 to delete, 3 unchanged.\n"), (
        pushed.err
    )
    for name in before:
        await stage.http.delete(f"/api/v1/agentic-tests/{before[name]['id']}")
    assert (await shell.parley("tests", "push", "tests.yaml", "--yes")).code == 0
    after = await stored(stage)
    added = ("id", "created_at", "updated_at", "next_run_at", "upcoming")
    for test in [*before.values(), *after.values()]:
        for name in added:
            del test[name]
    assert after == before


async def test_the_example_file_is_taken(stage: Stage, shell: Shell) -> None:
    assert (await shell.parley("init")).code == 0
    again = await shell.parley("init")
    assert (again.code, "File exists" in again.err) == (2, True)
    example = (shell.folder / "tests.yaml").read_text()
    (shell.folder / "tests.yaml").write_text(example.replace("my-agent:0000", stage.gateway["slug"]))
    assert (await shell.parley("tests", "push", "tests.yaml", "--yes")).code == 0
    listed = await shell.parley("tests", "list")
    assert "A return is free" in listed.out
