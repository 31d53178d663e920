"""Scripted suites in process, beside the calls of their agent and judge alone."""

from __future__ import annotations

from statistics import median

from scripts.hotpath.attempts import AT_ONCE, ATTEMPTS, STEPS
from scripts.hotpath.figures import Figure
from scripts.hotpath.meter import Spending
from scripts.hotpath.plan import SCRIPTED_TARGET_MS
from scripts.hotpath.subjects import output_of


def scripted_suites(rounds: int) -> Figure:
    """CPU per step beyond the calls: the median of `rounds`, each of fresh processes."""
    pairs = [(_cpu_ms("bare"), _cpu_ms("whole")) for _ in range(rounds)]
    bare, whole = (median(column) for column in zip(*pairs, strict=True))
    return Figure(
        measure="CPU per step beyond the calls, scripted suite in process",
        case=f"{ATTEMPTS} attempts, {AT_ONCE} at once",
        ours=f"{whole:.2f} ms",
        floor=f"{bare:.2f} ms",
        result=median(ours - floor for floor, ours in pairs),
        unit="ms",
        target=SCRIPTED_TARGET_MS,
        beside={"rounds": [round(ours - floor, 2) for floor, ours in pairs]},
    )


def _cpu_ms(what: str) -> float:
    """CPU of a process that does `what`, milliseconds per step."""
    spending = Spending(**output_of(["scripts.hotpath.attempts", what]))
    return spending.cpu_s * 1000 / (ATTEMPTS * STEPS)
