"""The how-tos of scripted suites: their files are written and their examples executed, in order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

DOCS = Path(__file__).parents[2] / "docs/how-to"
FILE = re.compile(r"<!-- file: (?P<name>[\w.-]+) -->\n```\w+\n(?P<code>.*?)```", re.DOTALL)
EXAMPLE = re.compile(r"<!-- executed(?P<python>: python)? -->\n```\w+\n(?P<code>.*?)```", re.DOTALL)


def followed(page: str, folder: Path) -> str:
    """What a reader of `page` sees who does all of it in `folder`."""
    text = (DOCS / page).read_text()
    for file in FILE.finditer(text):
        (folder / file["name"]).write_text(file["code"])
    examples = list(EXAMPLE.finditer(text))
    assert examples, f"{page} promises executed examples"
    code = "\n".join(
        f"python3 - <<'PY'\n{one['code']}PY" if one["python"] else one["code"] for one in examples
    )
    told = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=folder,
        env={
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "COLUMNS": "120",
            "NO_COLOR": "1",
        },
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert told.returncode == 0, told.stdout + told.stderr
    return told.stdout


def test_first_suite(tmp_path: Path) -> None:
    told = followed("first-scripted-suite.md", tmp_path)
    assert "refunds: 2 passed" in told
    assert "2 passed" in told.splitlines()[-1]
    assert (tmp_path / "evals.xml").exists()
    assert '"passed": 3' in (tmp_path / "evals.json").read_text()


def test_criteria(tmp_path: Path) -> None:
    told = followed("write-criteria.md", tmp_path)
    assert "passed [('You have it within 14 days.', True), ('never said', False)]" in told
    assert "failed [('Soon, I promise.', True), ('never said', False)]" in told
    assert "reference: {'days': 14} tool result: {'refund_days': 14}" in told


def test_interrupts(tmp_path: Path) -> None:
    assert "transfers: 4 passed" in followed("interrupts.md", tmp_path)
