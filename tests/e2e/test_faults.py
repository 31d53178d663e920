"""The fault harness: a fleet of processes that is struck and loses nothing, and bugs that it must find."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.e2e.faults.logs import Strike, trouble
from tests.e2e.faults.schedule import KINDS, NAMES, schedule
from tests.e2e.faults.soak import Sample, grown
from tests.e2e.faults.waits import Wait

ROOT = Path(__file__).parents[2]
WITHIN_S = 240
"""The bound of one seed is 180 s; a busy machine gets more before it is called a failure."""
SMALL_WITHIN_S = 150
"""For what takes half a minute on an idle machine."""
PLANTS = {
    "charge-outside": "FAIL  every entry that used something has one charge",
    "claim-without-lease": "FAIL  a lease is kept",
}
"""Bugs that have to be found, and the promise that they break."""


def harness(*words: str, within_s: float = WITHIN_S) -> subprocess.CompletedProcess[str]:
    """Run `make chaos` with these options."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
    return subprocess.run(
        [sys.executable, "-m", "tests.e2e.faults", *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=within_s,
        check=False,
    )


def test_schedule_is_a_function_of_its_seed() -> None:
    assert schedule(7, 40, 60) == schedule(7, 40, 60)
    assert schedule(7, 40, 60) != schedule(8, 40, 60)


@pytest.mark.parametrize("seed", range(20))
def test_every_kind_of_fault_strikes_whom_it_may_within_the_time(seed: int) -> None:
    faults = schedule(seed, len(KINDS), 60)
    assert {fault.kind for fault in faults} == set(NAMES)
    assert [fault.at_s for fault in faults] == sorted(fault.at_s for fault in faults)
    by_name = {kind.name: kind for kind in KINDS}
    for fault in faults:
        kind = by_name[fault.kind]
        assert fault.target in kind.targets
        assert kind.lasts[0] <= fault.for_s <= kind.lasts[1]
        assert 0 <= fault.at_s <= 60


def test_error_is_explained_by_a_fault_of_its_kind_and_time_only() -> None:
    def at(second: int) -> str:
        said = {"event": "grace time over: 3", "level": "error", "timestamp": f"2026-01-01T00:00:{second}Z"}
        return json.dumps(said)

    began_at = datetime(2026, 1, 1, 0, 0, 20, tzinfo=UTC).timestamp()
    silence = Strike("postgres-silent", began_at, began_at + 5)
    assert trouble(at(30), [silence]) is None
    assert trouble(at(19), [silence]) is not None
    assert trouble(at(59), [silence]) is not None
    assert trouble(at(30), [Strike("redis-flush", began_at)]) is not None


def test_wait_counts_without_the_time_of_faults_that_hold_runs_up() -> None:
    wait = Wait("run", since=10, until=40)
    strikes = [Strike("redis-away", 0, 50), Strike("freeze", 12, 20), Strike("postgres-restart", 15, 22)]
    assert wait.undisturbed_s([]) == wait.whole_s == 30
    assert wait.undisturbed_s(strikes) == 2 + 18
    assert wait.undisturbed_s([*strikes, Strike("kill", 35), Strike("stop", 0, 9)]) == 2 + 13
    assert wait.met(strikes) == ["freeze", "postgres-restart"]


def samples(**grows: int) -> list[Sample]:
    """An hour of samples; what is named grows by so much from one to the next."""

    def at(number: int) -> Sample:
        size = {what: {"api": 100 + by * number} for what, by in grows.items()}
        same = {"worker-1": 100, "worker-2": 100}
        return Sample(
            at_s=number * 60,
            memory={"api": 100, **same, **size.get("memory", {})},
            files={"api": 100, "worker-1": 9, "worker-2": 9, **size.get("files", {})},
            tasks={"api": 100, "worker-1": 9, "worker-2": 9, **size.get("tasks", {})},
            live_keys=min(11 * 50, 50 * number) + grows.get("live_keys", 0) * number,
            other_keys=10 + grows.get("other_keys", 0) * number,
            runs=50 * number,
        )

    return [at(number) for number in range(60)]


@pytest.mark.parametrize("what", ["memory", "files", "tasks", "other_keys", "live_keys"])
def test_soak_finds_what_grows(what: str) -> None:
    assert grown(samples()) == []
    assert len(grown(samples(**{what: 3}))) == 1


@pytest.mark.e2e
@pytest.mark.timeout(SMALL_WITHIN_S + 30)
@pytest.mark.parametrize("what", ["--small --seed 683", "--scene kill-and-flush"])
def test_small_fleet_loses_nothing(what: str) -> None:
    """Fourteen faults in eight seconds; a worker killed and Redis emptied under load."""
    done = harness(*what.split(), within_s=SMALL_WITHIN_S)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.e2e
@pytest.mark.timeout(SMALL_WITHIN_S + 30)
def test_planted_bugs_are_found() -> None:
    done = harness("--scene", "again-and-kill", "--plant", ",".join(PLANTS), within_s=SMALL_WITHIN_S)
    assert done.returncode == 1, done.stdout + done.stderr
    assert all(found in done.stdout for found in PLANTS.values()), done.stdout


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.timeout(WITHIN_S + 30)
def test_one_seed_holds() -> None:
    """C151 C155 C158 C159 C160 C164 C168, C088 C101, C171 C176: all of it at once, at process level."""
    done = harness("--seed", "11")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.timeout(WITHIN_S + 30)
@pytest.mark.parametrize("scene", ["kill", "flush", "deploy", "stop-in-silence", "again-and-kill"])
def test_scene_holds(scene: str) -> None:
    """C151: a worker killed, Redis emptied, everything asked to stop, also while the databases are silent."""
    done = harness("--scene", scene)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.timeout(WITHIN_S + 30)
@pytest.mark.parametrize("plant", PLANTS)
def test_one_planted_bug_breaks_its_own_promise(plant: str) -> None:
    done = harness("--scene", "again-and-kill", "--plant", plant)
    assert done.returncode == 1, done.stdout + done.stderr
    assert {found for found in PLANTS.values() if found in done.stdout} == {PLANTS[plant]}, done.stdout
