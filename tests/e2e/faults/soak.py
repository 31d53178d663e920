"""`make soak SOAK_MINUTES=20`: a fleet at full speed, and nothing of it grows.

After a quarter of the time everything has its size: memory may then grow by a tenth, open files and tasks
by a few. Keys of live streams go ten minutes after their run, so they are counted against the runs of those;
others may not grow at all. Exit code 0 if that holds.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
import uvloop

from parley.server.journal.bus import EXPIRE_S
from parley.server.llm.demo import DemoServer
from tests.e2e.faults.load import Customers, Shop
from tests.e2e.faults.processes import Fleet, fleet_in
from tests.e2e.faults.run import SETTINGS, customers_of, open_for_business
from tests.e2e.faults.schedule import PROCESSES

AT_ONCE: Final = 40
"""Customers, each with one run or direct evaluation after another."""
SAMPLE_S: Final = 5.0
MEMORY_RATIO: Final = 1.1
SPARE: Final = 20
"""Open files or tasks that may come and go by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One look. Memory in MB; open files and tasks are those of each process; keys by what they are."""

    at_s: float
    memory: dict[str, float]
    files: dict[str, int]
    tasks: dict[str, int]
    live_keys: int
    other_keys: int
    runs: int


async def soak(minutes: float, folder: Path) -> list[Sample]:
    """Run at full speed for so long; the samples."""
    async with DemoServer() as llms:
        llms.configure(chunks=8)
        settings = {
            **SETTINGS,
            "PARLEY_LLM_BASE_URL": llms.base_url,
            "FAULTS_TASKS": str(folder),
            "PARLEY_WORKER_LEASE_S": "30",
            "PARLEY_DATABASE_STATEMENT_TIMEOUT_S": "15",
        }
        async with fleet_in(folder, settings, "count-tasks") as fleet, customers_of(fleet, 0) as customers:
            shops = await open_for_business(fleet, customers, llms.base_url)
            until_s = time.monotonic() + minutes * 60
            async with asyncio.TaskGroup() as acting:
                for number in range(AT_ONCE):
                    acting.create_task(_custom(customers, shops, random.Random(number), until_s))
                sampling = acting.create_task(_samples(fleet, customers, until_s))
            return sampling.result()


async def _custom(customers: Customers, shops: Sequence[Shop], draw: random.Random, until_s: float) -> None:
    while time.monotonic() < until_s:
        await customers.visit(draw.choice(shops), draw)
        customers.forget()


async def _samples(fleet: Fleet, customers: Customers, until_s: float) -> list[Sample]:
    began, samples = time.monotonic(), list[Sample]()
    while time.monotonic() < until_s:
        await asyncio.sleep(SAMPLE_S)
        samples.append(await _sample(fleet, customers, time.monotonic() - began))
        _say(str(samples[-1]))
    return samples


async def _sample(fleet: Fleet, customers: Customers, at_s: float) -> Sample:
    seen = {name: psutil.Process(fleet.children[name].pid) for name in PROCESSES}
    async with fleet.redis_client() as redis:
        keys = [key async for key in redis.scan_iter(count=1_000)]
    live = sum(b":live:" in key for key in keys)
    return Sample(
        at_s=round(at_s, 1),
        memory={name: round(one.memory_info().rss / 1e6, 1) for name, one in seen.items()},
        files={name: one.num_fds() for name, one in seen.items()},
        tasks={name: _tasks_of(fleet.folder, one.pid) for name, one in seen.items()},
        live_keys=live,
        other_keys=len(keys) - live,
        runs=customers.runs_started,
    )


def _tasks_of(folder: Path, pid: int) -> int:
    try:
        return int((folder / f"{pid}.tasks").read_text())
    except (OSError, ValueError):
        return 0


def grown(samples: Sequence[Sample]) -> list[str]:
    """What has grown since a quarter of the time was over."""
    late = samples[len(samples) // 4 :]
    first, last = late[: max(1, len(late) // 10)], late[-max(1, len(late) // 10) :]
    found = []
    for name in PROCESSES:
        before, after = max(s.memory[name] for s in first), min(s.memory[name] for s in last)
        if after > before * MEMORY_RATIO:
            found.append(f"memory of {name}: {before} MB, then {after} MB")
        for what in ("files", "tasks"):
            before = max(getattr(s, what)[name] for s in first)
            after = min(getattr(s, what)[name] for s in last)
            if after > before + SPARE:
                found.append(f"{what} of {name}: {before:.0f}, then {after:.0f}")
    if min(s.other_keys for s in last) > max(s.other_keys for s in first) + SPARE:
        found.append(f"keys of Redis: {first[-1].other_keys}, then {last[-1].other_keys}")
    recent = last[-1].runs - max(
        (s.runs for s in samples if s.at_s < last[-1].at_s - EXPIRE_S - 60), default=0
    )
    if last[-1].live_keys > recent + SPARE:
        found.append(f"live streams in Redis: {last[-1].live_keys} for {recent} runs")
    return found


def _say(what: str) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def main() -> int:
    """Soak; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    minutes = parser.parse_args().minutes
    folder = Path(tempfile.mkdtemp(prefix="parley-soak-"))
    folder.chmod(0o711)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        samples = runner.run(soak(minutes, folder))
    found = grown(samples)
    _say("\n".join(found) if found else f"HOLDS: {samples[-1].runs} runs in {minutes:.0f} minutes")
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
