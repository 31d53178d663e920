"""What a process used: CPU time and memory, of this process or of another one."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What was used between two moments. `grown_kb` is the peak of memory above the first moment."""

    wall_s: float
    cpu_s: float
    grown_kb: int


def cpu_s_of(pid: int) -> float:
    """User and system time of a process, all threads, children it has waited for included, seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS_PER_S


def cpu_s_of_tree(pid: int) -> float:
    """The same of a process and of all below it."""
    total, open_pids = 0.0, [pid]
    while open_pids:
        one = open_pids.pop()
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            total += cpu_s_of(one)
            open_pids += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
    return total


def memory_kb(pid: int | str, name: str) -> int:
    """`VmRSS` (now) or `VmHWM` (peak) of a process, kB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    raise LookupError(name)


def forget_peak(pid: int | str) -> None:
    """Let the peak of a process's memory begin anew."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


class OwnMeter:
    """Measures this process inside the block; read `spending` behind it."""

    spending: Spending

    def __enter__(self) -> Self:
        forget_peak("self")
        self._rss_kb = memory_kb("self", "VmRSS")
        self._cpu_s, self._began_s = _own_cpu_s(), time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.spending = Spending(
            wall_s=time.perf_counter() - self._began_s,
            cpu_s=_own_cpu_s() - self._cpu_s,
            grown_kb=memory_kb("self", "VmHWM") - self._rss_kb,
        )


class OtherMeter:
    """Measures process `pid` from its making to `read`."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        forget_peak(pid)
        self._rss_kb = memory_kb(pid, "VmRSS")
        self._cpu_s, self._began_s = cpu_s_of(pid), time.perf_counter()

    def read(self) -> Spending:
        """What it has used until now."""
        return Spending(
            wall_s=time.perf_counter() - self._began_s,
            cpu_s=cpu_s_of(self._pid) - self._cpu_s,
            grown_kb=memory_kb(self._pid, "VmHWM") - self._rss_kb,
        )


def tell(spending: Spending) -> None:
    """Hand the result to the process that started this one."""
    sys.stdout.write(json.dumps(asdict(spending)) + "\n")


def _own_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
