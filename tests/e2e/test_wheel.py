"""The wheel as a customer has it: installed beside what it names itself, without the extra `server`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.e2e.test_local_stack import UP, Stack, start, stop

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

ROOT = Path(__file__).parents[2]
SERVERS_OWN = (
    "sqlalchemy",
    "fastapi",
    "asyncpg",
    "redis",
    "aiohttp",
    "uvicorn",
    "structlog",
    "pydantic_settings",
)


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment of its own with the wheel in it."""

    python: Path
    folder: Path

    def run(self, *words: str, **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.python), *words],
            cwd=self.folder,
            env={"HOME": str(self.folder), "PATH": os.environ["PATH"], "COLUMNS": "100"} | extra,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )

    def parley(self, *words: str, **extra: str) -> subprocess.CompletedProcess[str]:
        return self.run(str(self.python.with_name("parley")), *words, **extra)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel, built and installed by pip, beside the packages that its base dependencies lead to.

    Those are lent by the environment of the tests, file by file: nothing is downloaded, and nothing that
    a customer would not have is there.
    """
    folder = tmp_path_factory.mktemp("customer")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist"), cwd=ROOT)
    [wheel] = (folder / "dist").glob("*.whl")
    venv.create(folder / "venv", with_pip=True, symlinks=True)
    python = folder / "venv/bin/python"
    said = run(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder)
    lend(names_from(base_requirements(wheel)), Path(said.strip()))
    run(str(python), "-m", "pip", "install", "-q", "--no-index", str(wheel), cwd=folder)
    return Installed(python, folder)


def run(*words: str, cwd: Path) -> str:
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=True, timeout=100).stdout


def base_requirements(wheel: Path) -> list[Requirement]:
    """What the wheel names without an extra."""
    [found] = metadata.Distribution.discover(name="parley-evals", path=[str(wheel)])
    return [wanted for wanted in map(Requirement, found.requires or []) if applies(wanted)]


def applies(wanted: Requirement) -> bool:
    return wanted.marker is None or wanted.marker.evaluate({"extra": ""})


def names_from(wanted: list[Requirement]) -> set[str]:
    """The packages that these lead to, themselves included."""
    names: set[str] = set()
    pending = [one.name for one in wanted]
    while pending:
        name = re.sub(r"[-_.]+", "-", pending.pop()).lower()
        if name not in names:
            names.add(name)
            needs = map(Requirement, metadata.requires(name) or [])
            pending += [one.name for one in needs if applies(one)]
    return names


def lend(names: set[str], site: Path) -> None:
    """Link the files of packages into another environment."""
    for name in names:
        for file in metadata.files(name) or []:
            if ".." not in file.parts and "__pycache__" not in file.parts:
                place = site / file
                place.parent.mkdir(parents=True, exist_ok=True)
                if not place.exists():
                    place.symlink_to(Path(str(file.locate())))


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A running service with its demo tests."""
    started = start(tmp_path_factory.mktemp("service") / ".parley", "--demo")
    try:
        started.wait_for(UP)
        yield started
    finally:
        stop(started)


def test_nothing_of_the_server_is_there(installed: Installed) -> None:
    code = f"import importlib.util as u; print([n for n in {SERVERS_OWN} if u.find_spec(n)])"
    assert installed.run("-c", code).stdout.strip() == "[]"
    assert installed.run("-m", "pip", "check").returncode == 0


def test_importing_the_sdk_imports_nothing_of_the_server(installed: Installed) -> None:
    code = (
        "import sys, parley.sdk; print(sorted(n for n in sys.modules if n.startswith('parley')))\n"
        "from parley.sdk import *; print([n for n in sys.modules if n.startswith('parley.server')])"
    )
    assert installed.run("-c", code).stdout.splitlines() == ["['parley', 'parley.sdk']", "[]"]


def test_the_help_names_the_customers_commands(installed: Installed) -> None:
    ran = installed.parley("--help")
    assert ran.returncode == 0, ran.stderr
    for command in ("run", "gate", "tests", "suites", "init", "whoami"):
        assert re.search(rf"│ {command} ", ran.stdout), command


def test_an_operators_command_says_what_is_missing(installed: Installed) -> None:
    ran = installed.parley("dev")
    assert ran.returncode == 2
    assert "pip install 'parley-evals[local]'" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_sdk_and_command_line_work_against_a_running_service(installed: Installed, stack: Stack) -> None:
    where = {"PARLEY_URL": stack.dev["url"], "PARLEY_API_KEY": stack.dev["private_key"]}
    watched = installed.parley("run", "Return a pair of boots", "--watch", **where)
    assert watched.returncode == 0, watched.stderr
    assert "verdict  ✓ success" in watched.stdout
    assert installed.parley("run", "Refund for broken headphones", **where).returncode == 1
    assert installed.parley("tests", "pull", "tests.yaml", **where).returncode == 0
    assert installed.parley("tests", "diff", "tests.yaml", **where).returncode == 0
    code = (
        "from parley.sdk import Client\n"
        "with Client() as client:\n"
        "    [test] = client.tests.list(search='parcel')\n"
        "    run = client.runs.start(test.id)\n"
        "    *_, last = client.runs.events(test.id, run.id)\n"
        "    print(last.data.outcome)\n"
    )
    assert installed.run("-c", code, **where).stdout == "incomplete\n"


def test_the_file_of_a_local_stack_is_enough(installed: Installed, stack: Stack) -> None:
    (installed.folder / ".parley").mkdir(exist_ok=True)
    (installed.folder / ".parley/dev.json").write_text((stack.folder / "dev.json").read_text())
    ran = installed.parley("whoami")
    assert (ran.returncode, "plan max" in ran.stdout) == (0, True), ran.stderr
