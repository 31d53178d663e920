from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
import respx
from typer.testing import CliRunner, Result

from parley.sdk.cli import build_app
from tests.unit.sdk.shell_plane import RUN, ShellPlane

ENVIRONMENT = {"PARLEY_URL": "https://parley.test", "PARLEY_API_KEY": "sk-par-test", "COLUMNS": "100"}


@pytest.fixture
def plane() -> Iterator[ShellPlane]:
    """A plane with two results, one of which failed."""
    found = ShellPlane(2)
    for n in range(2):
        said = {"error": {"type": "E", "message": "bro|ken <b>"}} if n else {"output": {"text": "x"}}
        one = {
            "idempotencyKey": f"q{n}/1",
            "caseId": f"q{n}",
            "runNumber": 1,
            "timings": {"durationMs": 1500},
        }
        found.results[f"q{n}/1"] = one | said
    with respx.mock:
        respx.route(host="parley.test").mock(side_effect=found)
        yield found


def parley(*words: str, **environment: str | None) -> Result:
    clean = {"GITHUB_ACTIONS": None, "GITHUB_STEP_SUMMARY": None}
    return CliRunner().invoke(build_app(), list(words), env=ENVIRONMENT | clean | environment)


@pytest.mark.parametrize(("verdict", "code"), [("passed", 0), ("failed", 1), ("inconclusive", 2)])
def test_the_exit_code_is_the_verdict(plane: ShellPlane, verdict: str, code: int) -> None:
    plane.verdict = verdict
    ran = parley("gate", RUN, "--fail-under", "7")
    assert ran.exit_code == code, ran.output
    assert f"Support: {verdict}" in ran.stdout
    assert "fail-under: The mean is 7.5." in ran.stdout


def test_every_option_reaches_the_gate_and_no_other_is_sent(plane: ShellPlane) -> None:
    words = ["--fail-under", "7", "--no-regression", "--tolerance", "0", "--min-pass-rate", "0.5"]
    words += ["--max-regressed-cases", "0", "--min-coverage", "0", "--significance", "0.05"]
    words += ["--baseline", "pinned", "--record", "--caller", "me"]
    assert parley("gate", RUN, *words).exit_code == 0
    parley("gate", RUN, "--min-pass-rate", "1")
    assert plane.gate_asked == [
        {
            "failUnder": "7.0",
            "noRegression": "true",
            "tolerance": "0.0",
            "minPassRate": "0.5",
            "maxRegressedCases": "0",
            "minCoverage": "0.0",
            "significance": "0.05",
            "baseline": "pinned",
            "record": "true",
            "caller": "me",
        },
        {"minPassRate": "1.0"},
    ]


def test_json_is_the_gates_answer_alone(plane: ShellPlane) -> None:
    ran = parley("gate", RUN, "--fail-under", "7", "--json")
    assert json.loads(ran.stdout)["checks"][0]["check"] == "fail-under"
    assert plane.verdict == "passed"


@pytest.mark.usefixtures("plane")
def test_what_cannot_be_decided_ends_with_2() -> None:
    other = "0199f0c4-0000-7000-8000-00000000000f"
    assert parley("gate", other, "--fail-under", "7").exit_code == 2
    assert parley("gate", RUN, "--fail-under", "11").exit_code == 2
    assert parley("gate", RUN, "--unknown").exit_code == 2
    ran = parley("gate", RUN, "--fail-under", "7", PARLEY_API_KEY="")
    assert (ran.exit_code, "Set PARLEY_API_KEY" in ran.stderr) == (2, True)


def test_files_and_github_get_the_same_report(plane: ShellPlane, tmp_path: Path) -> None:
    plane.verdict = "failed"
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    files = ["--junit", str(tmp_path / "a/j.xml"), "--markdown", str(tmp_path / "m.md")]
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    ran = parley("gate", RUN, "--fail-under", "7", *files, **github)
    assert ran.exit_code == 1
    cases, checks = ElementTree.fromstring((tmp_path / "a/j.xml").read_text())
    assert (cases.get("tests"), cases.get("failures"), cases.get("errors")) == ("2", "0", "1")
    assert (checks.get("tests"), checks.get("failures")) == ("1", "1")
    markdown = (tmp_path / "m.md").read_text()
    assert r"E\: bro\|ken &lt;b\>" in markdown
    assert summary.read_text() == f"before\n{markdown}\n"
    commands = [line for line in ran.stderr.splitlines() if line.startswith("::")]
    assert commands == [
        "::error title=parley%3A gate%3A fail-under::The mean is 7.5.",
        "::error title=parley%3A Question 1?::E: bro|ken <b>",
    ]


def test_a_file_that_cannot_be_written_is_no_verdict(plane: ShellPlane, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = parley("gate", RUN, "--fail-under", "7", "--junit", str(tmp_path / "file/j.xml"))
    assert ran.exit_code == 2
    assert plane.verdict == "passed"
