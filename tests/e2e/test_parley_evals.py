"""`parley evals` as a person runs it: what it prints, writes and exits with, and what Ctrl-C leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

PARLEY = Path(sys.executable).parent / "parley"

SUITE = """
id: orders
cases:
  - id: found
    splits: [smoke]
    steps:
      - message: Where is order 17?
        expect:
          type: answer
          tools: [{name: find_order, arguments: {id: 17}}]
          text: {contains: [sent]}
  - id: missing
    steps:
      - message: Where is order 99?
        expect: {type: answer, text: {contains: [sent]}}
"""
APP = """
import asyncio, os, pathlib, re
from parley.sdk.evals import Evals, function_agent, recorded_tool

@recorded_tool
def find_order(id):
    return {17: "sent"}.get(id, "unknown")

async def answer(text):
    if os.environ.get("SLOW"):
        pathlib.Path("playing").touch()
        await asyncio.sleep(60)
    return f"Your order is {find_order(int(re.search('[0-9]+', text)[0]))}. {os.environ.get('GREETING', '')}"

evals = Evals(
    agent=function_agent(answer),
    suites=["orders.yaml"],
    teardown=lambda context: pathlib.Path(f"torn-down-{context.case.id}").touch(),
)
"""


@pytest.fixture
def app(tmp_path: Path) -> Path:
    (tmp_path / "orders.yaml").write_text(SUITE)
    (tmp_path / "shop.py").write_text(APP)
    return tmp_path


def environment(**more: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PARLEY_EVALS": "shop:evals",
        "NO_COLOR": "1",
        "COLUMNS": "120",
        **more,
    }


def parley(app: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PARLEY, "evals", *arguments],
        cwd=app,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_list_shows_suites_and_cases_and_calls_nothing(app: Path) -> None:
    told = parley(app, "list", SLOW="1")
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.splitlines() == ["orders", "  found  1 step(s)  [smoke]", "  missing  1 step(s)"]
    described = json.loads(parley(app, "list", "--json").stdout)
    assert described["suites"][0]["suite"]["id"] == "orders"


def test_run_shows_what_went_wrong_and_exits_1(app: Path) -> None:
    told = parley(app, "run", "--junit", "reports/evals.xml")
    assert told.returncode == 1
    assert "✓ passed orders/found" in told.stdout
    assert "✗ failed orders/missing" in told.stdout
    assert "step 1, text.contains[0]: 'sent' does not stand in the text." in told.stdout
    assert "orders: 1 passed, 1 failed" in told.stdout
    suite = ET.parse(app / "reports/evals.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")


def test_json_stands_alone_on_stdout_and_filters_choose(app: Path) -> None:
    told = parley(app, "run", "--split", "smoke", "--repetitions", "3", "--json")
    assert told.returncode == 0, told.stderr
    (record,) = json.loads(told.stdout)
    assert record["counts"] == {
        "error": 0, "cancelled": 0, "failed": 0, "inconclusive": 0, "ungraded": 0, "passed": 3, "total": 3,
    }  # fmt: skip
    assert [attempt["repetition"] for attempt in record["attempts"]] == [1, 2, 3]
    assert "✓ passed" in told.stderr


def test_env_files_are_read_before_the_app(app: Path) -> None:
    (app / ".env").write_text("GREETING='Good day.'\n")
    told = parley(app, "run", "--case", "found", "--env-file", ".env", "--json")
    observation = json.loads(told.stdout)[0]["attempts"][0]["steps"][0]["observation"]
    assert observation["text"] == "Your order is sent. Good day."


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--entry", "shop:missing"), "there is no missing"),
        (("--entry", "nowhere:evals"), "nowhere cannot be imported"),
        (("--suite", "other"), "no suite 'other'"),
        (("--case", "other"), "no case 'other'"),
        (("--judge", "nobody"), "--judge is app or service"),
        (("--env-file", "missing.env"), "cannot be read"),
    ],
)
def test_what_cannot_be_run_as_asked_exits_2_with_a_sentence(
    app: Path, arguments: tuple[str, ...], says: str
) -> None:
    told = parley(app, "run", *arguments)
    assert (told.returncode, told.stdout) == (2, "")
    assert says in told.stderr
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_stop_cleans_up_keeps_the_record_and_exits_130(app: Path, kind: signal.Signals) -> None:
    process = subprocess.Popen(
        [PARLEY, "evals", "run", "--json", "--concurrency", "1"],
        cwd=app,
        env=environment(SLOW="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(app / "playing", process)
    process.send_signal(kind)
    told, complaints = process.communicate(timeout=30)
    assert process.returncode == 130, complaints
    (record,) = json.loads(told)
    assert [attempt["status"] for attempt in record["attempts"]] == ["cancelled", "cancelled"]
    assert (app / "torn-down-found").exists()
    assert not (app / "torn-down-missing").exists()
    assert "Traceback" not in complaints


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    """Until `path` is there."""
    import time

    for _ in range(600):
        if path.exists():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError(f"{path.name} never came")


PYTEST_FILE = """
from parley.sdk.evals import case_tests
from shop import evals

test_orders = case_tests(evals)
test_smoke = case_tests(evals, split="smoke", repetitions=2)
"""


def test_each_case_is_a_test_of_pytest(app: Path) -> None:
    (app / "test_shop.py").write_text(PYTEST_FILE)
    told = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-rA",
            "--rootdir",
            str(app),
            "test_shop.py",
        ],
        cwd=app,
        env=environment(PYTHONPATH=str(app)),
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert told.returncode == 1, told.stdout + told.stderr
    assert "2 passed, 1 failed" in told.stdout or "1 failed, 2 passed" in told.stdout
    assert "test_orders[orders-missing]" in told.stdout
    assert "'sent' does not stand in the text." in told.stdout


def test_app_that_raises_is_an_error_in_words_and_not_a_failure(app: Path) -> None:
    (app / "shop.py").write_text(APP.replace("return f", 'raise LookupError("no shop"); return f'))
    told = parley(app, "run", "--case", "found", "--junit", "evals.xml")
    assert told.returncode == 1
    assert "! error orders/found" in told.stdout
    assert "step 1, execute: LookupError was raised. (app_error)" in told.stdout
    assert "LookupError: no shop" in told.stdout
    suite: Any = ET.parse(app / "evals.xml").getroot()[0]
    assert (suite.get("failures"), suite.get("errors")) == ("0", "1")
