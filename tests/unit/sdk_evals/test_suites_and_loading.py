"""Suites as text and files, and what a command line names."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.sdk.errors import ParleyError
from parley.sdk.evals import Evals, EvalsMisconfigured, SuiteInvalid, parse_suite
from parley.sdk.evals.loading import load_env_file, load_evals
from parley.sdk.evals.suites import load_suite
from tests.unit.sdk_evals.stage import step, suite

YAML = """
id: s
cases:
  - id: c
    steps:
      - message: Where is order 17?
        expect: {type: answer}
"""


def test_yaml_and_json_say_the_same() -> None:
    assert parse_suite(YAML) == parse_suite(json.dumps(suite(step())))


@pytest.mark.parametrize(
    "text",
    [
        "id: &a s\nname: *a\ncases: []",
        "id: s\nid: t\ncases: []",
        "{",
        "id: s\n1: x",
        "!!python/object:os.system x",
    ],
)
def test_what_is_surprising_in_yaml_is_refused(text: str) -> None:
    with pytest.raises(ParleyError):
        parse_suite(text)


def test_wrong_suite_names_its_paths_and_its_file(tmp_path: Path) -> None:
    with pytest.raises(SuiteInvalid, match=r"cases\[0\].steps\[0\].expect.type must be"):
        parse_suite(YAML.replace("answer", "reply"))
    path = tmp_path / "refunds.yaml"
    path.write_text(YAML.replace("answer", "reply"))
    with pytest.raises(EvalsMisconfigured, match=r"refunds.yaml is wrong: cases\[0\]"):
        load_suite(path)
    path.write_text(YAML)
    assert load_suite(str(path)).id == "s"


APP = """
from parley.sdk.evals import Evals, function_agent
def evals():
    return Evals(agent=function_agent(lambda text: text), suites=[{suite!r}])
ready = evals()
other = 7
def broken():
    raise RuntimeError("no database")
wrong = lambda: Evals(agent=function_agent(str), suites=[{{"id": "x"}}])
"""


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "an_app_of_evals.py").write_text(APP.format(suite=suite(step())))
    path = list(sys.path)
    yield tmp_path
    sys.path[:] = path
    sys.modules.pop("an_app_of_evals", None)


@pytest.mark.usefixtures("app")
@pytest.mark.parametrize("name", ["ready", "evals"])
def test_entry_is_evals_or_a_function_that_makes_them(name: str) -> None:
    assert isinstance(load_evals(f"an_app_of_evals:{name}"), Evals)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("an_app_of_evals", "is module:name"),
        ("an_app_of_evals:missing", "there is no missing"),
        ("an_app_of_evals:other", "is int, not Evals"),
        ("an_app_of_evals:broken", "raised RuntimeError: no database"),
        ("an_app_of_evals:wrong", "cases is missing"),
        ("no_such_app_of_evals:x", "cannot be imported"),
    ],
)
@pytest.mark.usefixtures("app")
def test_entry_that_does_not_work_is_told_in_a_sentence(entry: str, says: str) -> None:
    with pytest.raises(EvalsMisconfigured, match=says):
        load_evals(entry)


def test_env_file_sets_what_is_not_set(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text(
        "# keys\nA=1\nexport B = \"two words\" # note\nC='x#y'\nD=plain # note\n\nE=\nF=already\n"
    )
    environment = {"F": "kept"}
    load_env_file(path, environment)
    assert environment == {"A": "1", "B": "two words", "C": "x#y", "D": "plain", "E": "", "F": "kept"}


@pytest.mark.parametrize("content", ["no equals sign", "1A=x"])
def test_env_file_that_is_none_is_refused_by_its_line(tmp_path: Path, content: str) -> None:
    path = tmp_path / ".env"
    path.write_text(f"A=1\n{content}\n")
    with pytest.raises(EvalsMisconfigured, match="line 2"):
        load_env_file(path, {})
    with pytest.raises(EvalsMisconfigured, match="cannot be read"):
        load_env_file(tmp_path / "missing", {})


def test_yes_and_no_are_ids_like_any_other() -> None:
    resume = "      - {resume: {type: select, ids: [yes, off]}, expect: {type: answer}}\n"
    read = parse_suite(YAML.replace("answer", "interrupt") + resume)
    assert read.wire()["cases"][0]["steps"][1]["resume"]["ids"] == ["yes", "off"]
    assert parse_suite(YAML + "    replaySafe: true\n").cases[0].replay_safe is True
