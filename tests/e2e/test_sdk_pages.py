"""The pages of the SDK and of pipelines, executed against a local stack as their reader would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.e2e.test_local_stack import UP, start, stop

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

HOW_TO = Path(__file__).parents[2] / "docs/how-to"
FENCED = r"\n```\w+\n(.*?)```"
INSTALL = "pip install parley-evals pytest"


@dataclass(frozen=True, slots=True)
class Desk:
    """A folder beside a local stack, and a shell in it."""

    folder: Path
    environment: dict[str, str]
    slug: str
    """Of the demo's gateway."""

    def run(self, code: str, **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", f"set -euo pipefail\n{code}"],
            cwd=self.folder,
            env=self.environment | extra,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def follow(self, code: str, **extra: str) -> str:
        ran = self.run(code, **extra)
        assert ran.returncode == 0, code + ran.stdout + ran.stderr
        return ran.stdout + ran.stderr


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """The files of the pages, the slug of the demo's gateway in the place of the reader's own."""
    folder = tmp_path_factory.mktemp("desk")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    stack = start(folder / ".parley")
    try:
        stack.wait_for(UP)
        gateways = stack.ask("GET", "/api/v1/ai-gateways").json()["data"]
        slug = next(one["slug"] for one in gateways if one["name"] == "Demo shop")
        for page in ("tests-as-code.md", "ci-github.md"):
            for name, text in re.findall(r"<!-- file: (\S+) -->" + FENCED, read(page), flags=re.DOTALL):
                (folder / name).write_text(text.replace("my-agent:0000", slug))
        yield Desk(folder, {"PATH": path, "HOME": str(folder), "COLUMNS": "100"}, slug)
    finally:
        stop(stack)


@pytest.fixture
def pushed(desk: Desk) -> Desk:
    """The tests of the files are there, whichever tests of this page came before."""
    desk.follow("parley tests push tests.yaml --yes")
    return desk


def read(page: str) -> str:
    return (HOW_TO / page).read_text()


def executed(page: str) -> list[str]:
    found = re.findall(r"<!-- executed(: python)? -->" + FENCED, read(page), flags=re.DOTALL)
    assert found, f"{page} promises executed examples"
    return [f"python3 - <<'PY'\n{code}PY" if python else code for python, code in found]


def pipeline(page: str, kind: str) -> Any:
    [found] = re.findall(f"<!-- pipeline: {kind} -->" + FENCED, read(page), flags=re.DOTALL)
    return yaml.safe_load(found)


def test_definitions_are_pushed_and_pulled(desk: Desk) -> None:
    first, pull = executed("tests-as-code.md")
    told = desk.follow(first)
    assert "something would change" in told
    assert "\n0 to create, 0 to change, 0 to delete, 2 unchanged.\n" in told
    desk.follow(pull)
    assert "A return is free" in (desk.folder / "pulled.yaml").read_text()


def test_the_clients_do_what_the_page_says(pushed: Desk) -> None:
    blocking, awaited = executed("sdk.md")
    told = pushed.follow(blocking)
    assert re.search(r"^  judged 0\.\d+$", told, re.MULTILINE)
    assert re.search(r"^(success|loss|incomplete)$", told, re.MULTILINE)
    assert "Exchange a tent succeeded" in pushed.follow(awaited)


def test_a_plain_shell_decides(pushed: Desk) -> None:
    [code] = executed("ci-shell.md")
    assert "good: success" in pushed.follow(code)
    worse = code.replace("A return is free", "No promise beyond 30 days")
    ran = pushed.run(worse)
    assert (ran.returncode, "bad: " in ran.stdout) == (1, True), ran.stderr
    assert pushed.run(code.replace("A return is free", "No such")).returncode == 2


def test_a_suite_is_run_compared_and_scheduled(pushed: Desk) -> None:
    make, over_http, other_gateway, by_the_clock = executed("suites.md")
    told = pushed.follow(
        f"""
        BASE=$(jq -r .url .parley/dev.json) KEY=$(jq -r .private_key .parley/dev.json)
        of() {{ curl -sS "$BASE/api/v1/$1" -H "Authorization: Bearer $KEY" | jq -r "$2"; }}
        TEST=$(of agentic-tests '.data[] | select(.name == "A return is free") | .id')
        {make}
        SUITE=$(of suites '.data[0].id')
        {over_http}
        {other_gateway.replace("my-agent:0000", pushed.slug)}
        {by_the_clock}
        """
    )
    assert '"passed":true' in told, "the gate over HTTP"
    assert '"cron":"30 5 * * mon-fri"' in told


def test_the_workflow_of_github_runs_as_it_stands(desk: Desk) -> None:
    [job] = pipeline("ci-github.md", "github")["jobs"].values()
    assert set(job["env"]) == {"PARLEY_URL", "PARLEY_API_KEY"}
    steps = [step["run"] for step in job["steps"] if "run" in step]
    assert steps.pop(0) == INSTALL, "the environment of the tests has both"
    summary = desk.folder / "summary.md"
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_SHA": "4f0c2d1"}
    told = "".join(desk.follow(step, **github) for step in steps)
    assert "verdict  ✓ success" in told
    assert "1 passed" in told
    assert "✅ passed: A return is free" in summary.read_text()
    runs = [one.get("value") for one in parsed(desk, "reports/pytest.xml").iter("property")]
    assert len(set(runs)) == 3
    assert parsed(desk, "reports/run.xml")[0].get("failures") == "0"


def test_a_red_step_of_github_is_an_annotation(pushed: Desk) -> None:
    ran = pushed.run('parley run "No promise beyond 30 days"', GITHUB_ACTIONS="true")
    assert ran.returncode == 1
    assert "::error title=parley%3A No promise beyond 30 days::" in ran.stderr


def test_the_script_of_gitlab_runs_as_it_stands(desk: Desk) -> None:
    job = pipeline("ci-gitlab.md", "gitlab")["agent"]
    assert job["script"][0] == INSTALL
    for line in job["script"][1:]:
        desk.follow(line, GITLAB_CI="true")
    assert job["artifacts"]["reports"]["junit"] == "reports/*.xml"
    assert {path.name for path in (desk.folder / "reports").glob("*.xml")} >= {"run.xml", "pytest.xml"}
    assert (desk.folder / "reports/run.md").read_text().startswith("### ✅ passed")


def parsed(desk: Desk, name: str) -> ElementTree.Element:
    return ElementTree.parse(desk.folder / name).getroot()
