import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from parley.server.ops.local.errors import LocalStackError
from parley.server.ops.local.processes import Child, Program
from parley.server.ops.local.supervisor import RESTARTS_PER_MINUTE, StopRequested, Supervisor
from tests.integration.ops.test_processes import OBEDIENT, STUBBORN, eventually, is_up


def program(folder: Path, name: str, script: str, patience_s: float = 5.0) -> Program:
    return Program(
        name=name,
        argv=[sys.executable, "-c", script],
        log=folder / f"{name}.log",
        record=folder / f"{name}.pid.json",
        patience_s=patience_s,
    )


def watched(
    supervisor: Supervisor,
    *programs: Program,
    restart: bool = False,
    until: Callable[[], bool] = lambda: False,
) -> list[Child]:
    """Run them under the supervisor until something ends that."""
    children: list[Child] = []
    with supervisor.running():
        children += [supervisor.start(one, restart=restart) for one in programs]
        supervisor.watch(until, timeout_s=20)
    return children


def request_when_up(child: Program, folder: Path, number: signal.Signals) -> None:
    """Ask to stop once the child runs: before that nobody may be listening yet."""

    def request() -> None:
        assert eventually(lambda: child.log.exists() and is_up(folder))
        os.kill(os.getpid(), number)

    threading.Thread(target=request).start()


def test_a_child_that_dies_stops_the_stack_with_its_last_lines(tmp_path: Path) -> None:
    other = program(tmp_path, "other", OBEDIENT)
    api = program(tmp_path, "api", "print('out of paper'); raise SystemExit(3)")
    with pytest.raises(LocalStackError, match=r"api ended with exit code 3(.|\n)*out of paper"):
        watched(Supervisor(lambda _line: None), other, api)
    assert list(tmp_path.glob("*.pid.json")) == []


def test_a_worker_that_is_killed_is_started_again(tmp_path: Path) -> None:
    said: list[str] = []
    supervisor = Supervisor(said.append)
    record = tmp_path / "worker.pid.json"
    with supervisor.running():
        first = supervisor.start(program(tmp_path, "worker", OBEDIENT), restart=True)
        os.kill(first.pid, signal.SIGKILL)
        supervisor.watch(lambda: bool(said), timeout_s=10)
        assert f'"pid": {first.pid},' not in record.read_text()
    assert "worker was ended by SIGKILL and is started again" in said[0]
    assert not record.exists()


def test_a_worker_that_keeps_dying_stops_the_stack(tmp_path: Path) -> None:
    said: list[str] = []
    worker = program(tmp_path, "worker", "raise SystemExit(1)")
    with pytest.raises(LocalStackError, match="worker ended with exit code 1"):
        watched(Supervisor(said.append), worker, restart=True)
    assert len(said) == RESTARTS_PER_MINUTE


def test_a_one_time_program_may_end_well_but_not_badly(tmp_path: Path) -> None:
    supervisor = Supervisor(lambda _line: None)
    with supervisor.running():
        supervisor.run_once(program(tmp_path, "good", "pass"), 10)
        with pytest.raises(LocalStackError, match=r"bad ended with exit code 1(.|\n)*no table"):
            supervisor.run_once(program(tmp_path, "bad", "raise SystemExit('no table')"), 10)


def test_a_stop_request_that_was_swallowed_where_it_struck_still_counts(tmp_path: Path) -> None:
    def ask_in_a_place_that_swallows() -> bool:
        with contextlib.suppress(StopRequested):
            signal.raise_signal(signal.SIGTERM)
        return False

    child = program(tmp_path, "child", OBEDIENT)
    with pytest.raises(StopRequested, match="SIGTERM"):
        watched(Supervisor(lambda _line: None), child, until=ask_in_a_place_that_swallows)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stop_request_ends_every_child_and_gives_the_signals_back(
    tmp_path: Path, number: signal.Signals
) -> None:
    # Under nohup the tests inherit an ignored SIGHUP, which the supervisor rightly leaves ignored.
    inherited = signal.signal(number, signal.SIG_DFL)
    before = signal.getsignal(number)
    child = program(tmp_path, "child", OBEDIENT)
    request_when_up(child, tmp_path, number)
    with pytest.raises(StopRequested):
        watched(Supervisor(lambda _line: None), child)
    assert list(tmp_path.glob("*.pid.json")) == []
    assert signal.signal(number, inherited) == before


def test_a_second_request_kills_a_child_that_does_not_obey(tmp_path: Path) -> None:
    said: list[str] = []
    child = program(tmp_path, "child", STUBBORN, patience_s=60)

    def when_up() -> None:
        assert eventually(lambda: child.log.exists() and is_up(tmp_path))
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=when_up).start()
    with pytest.raises(StopRequested):
        watched(Supervisor(said.append), child)
    assert said == ["Killing what is left."]
    assert list(tmp_path.glob("*.pid.json")) == []
