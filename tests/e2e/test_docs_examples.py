"""The examples of the pages, executed in their order against a local stack, as their reader would."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.test_local_stack import UP, start, stop

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (
    "quickstart.md",
    "how-to/understand-a-run.md",
    "how-to/read-the-stream.md",
    "how-to/write-useful-tests.md",
    "how-to/money.md",
    "how-to/evaluate-your-agent.md",
    "how-to/judged-by-the-service.md",
    "how-to/against-a-gateway.md",
    "how-to/in-your-own-app.md",
)
EXAMPLE = re.compile(r"<!-- executed(?P<python>: python)? -->\n```\w+\n(?P<code>.*?)```", re.DOTALL)


def examples_of(page: str) -> list[str]:
    """The examples of a page as shell code."""
    found = list(EXAMPLE.finditer((DOCS / page).read_text()))
    assert found, f"{page} promises executed examples"
    return [f"python3 - <<'PY'\n{match['code']}PY" if match["python"] else match["code"] for match in found]


def test_examples_do_what_the_pages_say(tmp_path: Path) -> None:
    stack = start(tmp_path / ".parley")
    try:
        stack.wait_for(UP)
        told = follow(tmp_path)
    finally:
        stop(stack)
    assert told.returncode == 0, told.stderr + told.stdout
    assert told.stdout.count("chat.validation.end") == 2, "a run and a direct evaluation, each with one end"
    assert re.search(r"^succeeded \w+ \w+ \S+ \$0\.\d+$", told.stdout, re.MULTILINE)
    written = tmp_path / ".parley/try"
    seeds = {json.loads((written / name).read_text())["data"]["seed"] for name in ("run.json", "again.json")}
    assert len(seeds) == 1, "the second run was started with the seed of the first"
    *_, first, second = re.findall(r"^ {5,}(user|assistant): \S", told.stdout, re.MULTILINE)
    assert {first, second} <= {"user", "assistant"}
    assert told.stderr.count("opening-hours: kept as evaluation") == 2, told.stderr
    assert "opening-hours: 3 passed" in told.stderr
    assert "offers orders: 2 cases" in told.stdout
    for name in ("A return is free", "No promise beyond 30 days"):
        assert re.search(rf"^{name}: succeeded, (success|loss|incomplete)$", told.stdout, re.MULTILINE)


def follow(checkout: Path) -> subprocess.CompletedProcess[str]:
    """Run all examples in one shell; `python3` is this environment's, which has httpx."""
    code = "\n".join(["set -euo pipefail", *(e for page in PAGES for e in examples_of(page))])
    environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-c", code], cwd=checkout, env=environment, capture_output=True, text=True, timeout=120
    )
