"""`parley dev` as a person uses it: started, looked at, stopped, killed, started again."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from parley.server.ops.local.ports import free_port

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

PARLEY = [sys.executable, "-c", "from parley.sdk.cli import main; main()"]
UP = "Ctrl-C stops everything"


@dataclass
class Stack:
    """A started `parley dev`."""

    process: subprocess.Popen[str]
    folder: Path
    out: Path

    @property
    def text(self) -> str:
        return self.out.read_text()

    @property
    def dev(self) -> dict[str, str]:
        content: dict[str, str] = json.loads((self.folder / "dev.json").read_text())
        return content

    def wait_for(self, text: str, timeout_s: float = 90) -> None:
        def seen() -> bool:
            assert self.process.poll() is None or text in self.text, self.text
            return text in self.text

        assert eventually(seen, timeout_s), self.text

    def ask(self, method: str, path: str, **about: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.dev['private_key']}", **about.pop("headers", {})}
        return httpx.request(method, self.dev["url"] + path, headers=headers, timeout=20, **about)

    def family(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)


def eventually(holds: Callable[[], bool], timeout_s: float = 20) -> bool:
    deadline = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def environment() -> dict[str, str]:
    outer = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
    # The demo's llms speak at a reader's pace unless told otherwise.
    pace = {"PARLEY_DEMO_STORY_LATENCY_MS": "0", "PARLEY_DEMO_STORY_GAP_MS": "0"}
    return {**outer, **pace, "COLUMNS": "80"}


def start(folder: Path, *options: str, port: int | None = None) -> Stack:
    out = folder.with_name(f"{folder.name}.{time.monotonic_ns()}.out")
    words = ["dev", "--data-dir", str(folder), "--port", str(port or free_port()), *options]
    with out.open("w") as file:
        process = subprocess.Popen(
            PARLEY + words, env=environment(), stdout=file, stderr=subprocess.STDOUT, text=True
        )
    return Stack(process=process, folder=folder, out=out)


def stop(stack: Stack) -> int:
    stack.process.send_signal(signal.SIGINT)
    return stack.process.wait(30)


def run_parley(*words: str, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        PARLEY + list(words),
        env={**environment(), **extra},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack whose demo has been shown."""
    started = start(tmp_path_factory.mktemp("stack") / "data", "--demo")
    try:
        started.wait_for(UP)
        yield started
    finally:
        stop(started)


def test_the_demo_shows_three_conversations_and_their_verdicts(stack: Stack) -> None:
    verdicts = re.findall(r"verdict \S (\w+): (.+), turn (\d+)", stack.text)
    assert verdicts == [
        ("success", "baseline reached", "3"),
        ("loss", "loss threshold persisted", "4"),
        ("incomplete", "max turns reached", "5"),
    ]
    assert "hiking boots" in stack.text
    assert re.search(r"judge 0\.58 [▁▂▃▄▅▆▇█] ", stack.text)
    conversations = stack.text[stack.text.index("1/3") : stack.text.rindex("verdict")]
    assert max(len(line) for line in conversations.splitlines()) <= 80


def test_the_dev_file_is_private_and_its_keys_open_the_account(stack: Stack) -> None:
    assert (stack.folder / "dev.json").stat().st_mode & 0o777 == 0o600
    for key in ("private_key", "public_key"):
        answer = stack.ask("GET", "/api/v1/whoami", headers={"Authorization": f"Bearer {stack.dev[key]}"})
        assert answer.json()["data"]["account_id"] == stack.dev["account_id"]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example"])
def test_a_foreign_host_header_is_refused(stack: Stack, host: str) -> None:
    assert stack.ask("GET", "/livez", headers={"Host": host}).is_client_error


def test_the_loopback_names_are_answered(stack: Stack) -> None:
    port = httpx.URL(stack.dev["url"]).port
    for host in ("127.0.0.1", "localhost"):
        assert httpx.get(f"http://{host}:{port}/readyz").status_code == 200


def test_everything_listens_on_the_loopback_address_alone(stack: Stack) -> None:
    listening = [
        connection.laddr.ip
        for process in stack.family()
        for connection in process.net_connections(kind="tcp")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(listening) >= 4
    assert set(listening) == {"127.0.0.1"}


@pytest.mark.skipif(shutil.which("curl") is None, reason="the line is written for curl")
def test_the_line_to_try_streams_one_conversation(stack: Stack) -> None:
    found = re.search(r"^ +curl (?:.*\\\n)*.*", stack.text, re.MULTILINE)
    assert found is not None
    said = subprocess.run(
        ["sh", "-c", found[0]], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    kinds = re.findall(r'"type": ?"([^"]+)"', said)
    assert kinds[0] == "chat.start"
    assert kinds.count("chat.validation.end") == 1
    assert kinds[-1] == "chat.validation.end"


def test_the_doctor_finds_the_stack_well_with_its_own_settings(stack: Stack) -> None:
    script = f'set -a; . "{stack.folder}/stack.env"; exec "$@"'
    words = ["sh", "-c", script, "sh", *PARLEY, "doctor"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, env=environment(), timeout=60)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "✗" not in ran.stdout
    for about in ("secrets", "database", "migrations", "queue", "llm demo-user", "outbound"):
        assert about in ran.stdout


def test_the_doctor_says_what_to_do_where_nothing_is_set_up() -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    ran = run_parley(
        "doctor", PARLEY_DATABASE_URL=f"postgresql://x@{nowhere}/x", PARLEY_REDIS_URL=f"redis://{nowhere}/0"
    )
    assert ran.returncode == 1
    for advice in (
        "PARLEY_SECRET_KEYS",
        "check PARLEY_DATABASE_URL",
        "check PARLEY_REDIS_URL",
        "set PARLEY_LLM_BASE_URL",
    ):
        assert advice in ran.stdout


def test_a_second_stack_on_the_same_folder_is_told_about_the_first(stack: Stack) -> None:
    ran = run_parley("dev", "--data-dir", str(stack.folder), "--port", str(free_port()))
    assert ran.returncode == 2
    assert f"already runs on {stack.folder} at {stack.dev['url']} (process {stack.process.pid})" in ran.stdout


def test_a_busy_port_is_reported_with_its_holder_and_another_port(stack: Stack, tmp_path: Path) -> None:
    port = httpx.URL(stack.dev["url"]).port
    ran = run_parley("dev", "--data-dir", str(tmp_path / "other"), "--port", str(port))
    assert ran.returncode == 2
    assert re.search(rf"Port {port} is in use by process \d+ \(.+\)", ran.stdout)
    assert re.search(r"--port \d+", ran.stdout)
    assert "Traceback" not in ran.stdout + ran.stderr


def test_a_killed_worker_is_replaced_and_runs_go_on(stack: Stack) -> None:
    old = json.loads((stack.folder / "worker.pid.json").read_text())["pid"]
    os.kill(old, signal.SIGKILL)
    stack.wait_for("worker was ended by SIGKILL and is started again")
    test_id = stack.ask("GET", "/api/v1/agentic-tests").json()["data"][0]["id"]
    runs = f"/api/v1/agentic-tests/{test_id}/runs"
    run_id = stack.ask("POST", runs).json()["data"]["id"]
    assert eventually(lambda: stack.ask("GET", f"{runs}/{run_id}").json()["data"]["state"] == "succeeded", 60)


def test_ctrl_c_stops_all_and_a_second_start_keeps_the_data(tmp_path: Path) -> None:
    first = start(tmp_path / "data")
    first.wait_for(UP)
    dev, family = first.dev, first.family()
    assert len(family) >= 5
    assert stop(first) == 0
    assert [process for process in family if process.is_running()] == []
    assert list(first.folder.glob("*.pid.json")) == []

    second = start(tmp_path / "data")
    second.wait_for(UP)
    assert {**second.dev, "url": ""} == {**dev, "url": ""}
    names = [test["name"] for test in second.ask("GET", "/api/v1/agentic-tests").json()["data"]]
    assert len(names) == 3
    assert len(set(names)) == 3
    assert len(second.ask("GET", "/api/v1/ai-gateways").json()["data"]) == 1

    family = second.family()
    second.process.kill()
    assert second.process.wait() == -signal.SIGKILL
    assert eventually(lambda: not any(process.is_running() for process in family))

    third = start(tmp_path / "data", port=httpx.URL(second.dev["url"]).port)
    third.wait_for(UP)
    assert third.ask("GET", "/api/v1/whoami").is_success
    assert stop(third) == 0


def test_without_a_terminal_the_demo_can_end_after_its_verdicts(tmp_path: Path) -> None:
    ran = run_parley(
        "dev",
        "--demo",
        "--data-dir",
        str(tmp_path / "data"),
        "--port",
        str(free_port()),
        PARLEY_DEMO_EXIT="1",
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert len(re.findall(r"verdict ", ran.stdout)) == 3
    assert "\x1b" not in ran.stdout


def test_a_database_that_is_away_is_named(tmp_path: Path) -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    ran = run_parley(
        "dev",
        "--data-dir",
        str(tmp_path / "data"),
        "--port",
        str(free_port()),
        PARLEY_DATABASE_URL=f"postgresql://postgres:hidden@{nowhere}/parley",
    )
    assert ran.returncode == 2
    assert f"The database at {nowhere} cannot be used" in ran.stdout
    assert "Traceback" not in ran.stdout + ran.stderr
    assert "hidden" not in ran.stdout + ran.stderr


def test_no_demo_llms_without_a_provider_is_explained(tmp_path: Path) -> None:
    ran = run_parley("dev", "--no-demo-llms", "--data-dir", str(tmp_path / "data"))
    assert ran.returncode == 2
    assert "PARLEY_LLM_BASE_URL" in ran.stdout
