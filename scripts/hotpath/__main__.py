"""`make bench`, `scripts/bench`: the hot path beside a bare client that makes the same calls."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from scripts.hotpath.beginnings import first_requests
from scripts.hotpath.compare import Comparison
from scripts.hotpath.figures import Figure, table, write_json
from scripts.hotpath.ground import Ground, ground
from scripts.hotpath.plan import FULL, MEASURES, QUICK, TARGETS, Plan
from scripts.hotpath.scripted import ScriptedLlms
from scripts.hotpath.statements import statements
from scripts.hotpath.suites import scripted_suites


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Measures the hot path as ratios to a bare aiohttp client that makes the same calls. "
        "How to read the table: docs/operations/bench.md.",
    )
    parser.add_argument("--quick", action="store_true", help="about a minute: 16 at once, single rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything found to FILE")
    parser.add_argument("--only", action="append", choices=MEASURES, metavar="NAME", help=", ".join(MEASURES))
    return parser.parse_args()


def _measured(folder: Path, plan: Plan, wanted: list[str]) -> Iterator[Figure]:
    if "scripted" in wanted:
        yield scripted_suites(plan.rounds)
    if set(wanted) - {"scripted"}:
        with ScriptedLlms() as llms, ground(folder, llms) as running:
            yield from _conversations(running, llms, plan, wanted)


def _conversations(running: Ground, llms: ScriptedLlms, plan: Plan, wanted: list[str]) -> Iterator[Figure]:
    comparison = Comparison(running, llms, plan, wanted)
    if set(wanted) & set(TARGETS):
        yield from comparison.cells()
    if "wall" in wanted and plan.wall_rounds:
        yield from comparison.wall()
    if "first-request" in wanted:
        yield from first_requests(running, llms, plan.first_requests)
    if "statements" in wanted:
        yield from statements(running, llms)


def main() -> int:
    """Measure, print, and return the exit status: 0, also where a target is missed."""
    given = _arguments()
    plan, wanted = QUICK if given.quick else FULL, given.only or list(MEASURES)
    began_s, folder = time.monotonic(), Path(tempfile.mkdtemp(prefix="parley-bench-"))
    figures: list[Figure] = []
    try:
        for figure in _measured(folder, plan, wanted):
            figures.append(figure)
            print("  ".join(figure.cells()), file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    took_s, load = time.monotonic() - began_s, os.getloadavg()[0]
    print(f"\n{table(figures)}\n\n{took_s:.0f} s, {os.cpu_count()} cores, load {load:.1f}")
    if given.json:
        about = {"took_s": round(took_s), "cores": os.cpu_count(), "load": load, "turns": plan.turns}
        write_json(given.json, figures, about)
    return 0


if __name__ == "__main__":
    sys.exit(main())
