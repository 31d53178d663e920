"""Draw docs/images/demo.svg: the first demo conversation as the terminal shows it, from a real run."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from rich.console import Console

from parley.server.ops.local.demo import Demo, DemoClient, DemoShow, DemoTest
from parley.server.ops.local.home import DevFile
from parley.server.ops.local.ports import free_port

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "demo.svg"
START_S = 90


def main() -> None:
    """Start a stack of its own, show the demo into a recording console, save it."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        words = ["-c", "from parley.sdk.cli import main; main()", "dev", "--port", str(free_port())]
        stack = subprocess.Popen(
            [sys.executable, *words, "--data-dir", str(data)],
            env={**os.environ, "PARLEY_DEMO_STORY_GAP_MS": "0", "PARLEY_DEMO_STORY_LATENCY_MS": "0"},
            stdout=subprocess.DEVNULL,
        )
        try:
            draw(wait_for(data / "dev.json"))
        finally:
            stack.send_signal(signal.SIGTERM)
            stack.wait(30)


def wait_for(path: Path) -> DevFile:
    """The addresses of the stack, once it is up with its demo tests."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if path.exists():
            return DevFile(**json.loads(path.read_text()))
        time.sleep(0.2)
    raise SystemExit("the stack did not start")


def first_test(dev_file: DevFile) -> DemoTest:
    """The demo test that succeeds, once the stack has made all three."""
    headers = {"Authorization": f"Bearer {dev_file.private_key}"}
    for _ in range(100):
        tests = httpx.get(f"{dev_file.url}/api/v1/agentic-tests", headers=headers).json()["data"]
        if len(tests) == 3:
            return DemoTest(id=tests[-1]["id"], name=tests[-1]["name"])
        time.sleep(0.2)
    raise SystemExit("the demo tests were not made")


def draw(dev_file: DevFile) -> None:
    """Play the first demo test and save what the terminal showed."""
    console = Console(record=True, width=88, file=io.StringIO(), force_terminal=True)
    show = DemoShow(DemoClient(dev_file), Demo(gateway="", tests=(first_test(dev_file),)), console)
    show.start()
    show.wait()
    show.is_over()
    picture = console.export_svg(title="make demo")
    # The picture must not fetch a font from elsewhere: any monospaced one does.
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    PICTURE.write_text(picture.replace("Fira Code", "ui-monospace"))


if __name__ == "__main__":
    main()
