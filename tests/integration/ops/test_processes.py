import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from parley.server.ops.local.errors import LocalStackError
from parley.server.ops.local.processes import (
    Child,
    Program,
    birth_mark,
    end_leftover,
    recorded_pid,
    write_record,
)

STUBBORN = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
OBEDIENT = "import time; print('up', flush=True); time.sleep(600)"


def program(folder: Path, script: str, **about: object) -> Program:
    return Program(
        name="child",
        argv=[sys.executable, "-c", script],
        log=folder / "child.log",
        record=folder / "child.pid.json",
        **about,  # type: ignore[arg-type]
    )


def is_up(folder: Path) -> bool:
    return "up" in (folder / "child.log").read_text()


def eventually(holds: Callable[[], bool], timeout_s: float = 10.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_an_obedient_child_stops_and_its_record_goes(tmp_path: Path) -> None:
    child = Child(program(tmp_path, OBEDIENT))
    assert recorded_pid(tmp_path / "child.pid.json") == child.pid
    child.stop()
    assert child.exit_code() == -signal.SIGTERM
    assert not (tmp_path / "child.pid.json").exists()


def test_a_stubborn_child_is_killed_after_its_patience(tmp_path: Path) -> None:
    child = Child(program(tmp_path, STUBBORN, patience_s=0.1))
    child.wait_until(lambda: is_up(tmp_path), 10)
    child.stop()
    assert child.exit_code() == -signal.SIGKILL


def test_what_a_child_started_ends_with_it(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys, time\n"
        "grandchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print('up', grandchild.pid, flush=True); time.sleep(600)"
    )
    child = Child(program(tmp_path, script))
    child.wait_until(lambda: is_up(tmp_path), 10)
    grandchild = int((tmp_path / "child.log").read_text().split()[1])
    child.stop()
    assert eventually(lambda: birth_mark(grandchild) is None)


def test_a_child_that_ends_while_starting_is_reported_with_its_last_lines(tmp_path: Path) -> None:
    child = Child(program(tmp_path, "print('no such disk'); raise SystemExit(3)"))
    with pytest.raises(
        LocalStackError, match=r"child ended with exit code 3 while starting(.|\n)*no such disk"
    ):
        child.wait_until(lambda: False, 10)
    child.stop()


def test_last_lines_are_those_of_this_start(tmp_path: Path) -> None:
    (tmp_path / "child.log").write_text("from an earlier start\n")
    child = Child(program(tmp_path, "print('one'); print('two')"))
    assert child.wait(10) == 0
    assert child.last_lines() == ["one", "two"]
    assert child.last_lines(1) == ["two"]
    child.kill()


def test_a_program_that_does_not_exist_is_named(tmp_path: Path) -> None:
    missing = Program(name="ghost", argv=["/no/such/program"], log=tmp_path / "l", record=tmp_path / "r")
    with pytest.raises(LocalStackError, match="ghost could not be started"):
        Child(missing)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_a_child_dies_with_a_killed_parent(tmp_path: Path) -> None:
    parent = f"""
import os, pathlib, sys, time
sys.path.insert(0, {str(Path.cwd())!r})
from tests.integration.ops.test_processes import program, STUBBORN, is_up
from parley.server.ops.local.processes import Child
folder = pathlib.Path({str(tmp_path)!r})
child = Child(program(folder, STUBBORN))
child.wait_until(lambda: is_up(folder), 10)
print(child.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    said = subprocess.run([sys.executable, "-c", parent], capture_output=True, text=True, check=False)
    assert said.returncode == -signal.SIGKILL, said.stderr
    assert eventually(lambda: birth_mark(int(said.stdout)) is None)


def test_a_leftover_is_ended_by_its_record(tmp_path: Path) -> None:
    leftover = subprocess.Popen([sys.executable, "-c", OBEDIENT])
    record = tmp_path / "child.pid.json"
    write_record(record, leftover.pid)
    assert end_leftover(record, [signal.SIGTERM])
    assert leftover.wait() == -signal.SIGTERM
    assert not record.exists()


def test_a_stubborn_leftover_is_killed(tmp_path: Path) -> None:
    leftover = subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE, text=True)
    assert leftover.stdout is not None
    assert leftover.stdout.readline() == "up\n"
    record = tmp_path / "child.pid.json"
    write_record(record, leftover.pid)
    assert end_leftover(record, [signal.SIGTERM], patience_s=0.1)
    assert leftover.wait() == -signal.SIGKILL
    leftover.stdout.close()


def test_a_process_that_inherited_a_recorded_pid_is_left_alone(tmp_path: Path) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", OBEDIENT])
    record = tmp_path / "child.pid.json"
    write_record(record, stranger.pid)
    record.write_text(record.read_text().replace('"birth": "', '"birth": "another'))
    assert not end_leftover(record, [signal.SIGTERM])
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"pid": "x", "birth": "y"}', '{"pid": 1, "birth": null}']
)
def test_a_damaged_record_points_at_nobody(tmp_path: Path, content: str) -> None:
    record = tmp_path / "child.pid.json"
    record.write_text(content)
    assert recorded_pid(record) is None
    assert not end_leftover(record, [signal.SIGTERM])


def test_a_process_that_nobody_has_waited_for_counts_as_gone() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert eventually(lambda: birth_mark(child) is None)
    os.waitpid(child, 0)
