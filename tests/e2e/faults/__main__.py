"""`make chaos SEED=7`: strike a fleet under load by the schedule of a seed, and check what must hold.

Exit code 0 if everything holds, 1 if not. The data of a broken run is left, that of a planted bug not.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import shutil
import sys
import tempfile
from pathlib import Path

import uvloop

from tests.e2e.faults import report
from tests.e2e.faults.run import Order, carry_out
from tests.e2e.faults.scenes import SCENES
from tests.e2e.faults.schedule import KINDS, NAMES, schedule


def main() -> int:
    """Run once; the exit code."""
    order = _order(_arguments())
    print(report.plan(order), flush=True)
    folder = Path(tempfile.mkdtemp(prefix="parley-faults-"))
    # The embedded Postgres may run as another user, who has to pass through.
    folder.chmod(0o711)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        outcome = runner.run(carry_out(order, folder))
    print(report.text(outcome))
    print(report.row(outcome), flush=True)
    if outcome.holds or order.plant:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"logs and data: {folder}")
    return 0 if outcome.holds else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=None, help="replays a run; drawn and printed without one")
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument(
        "--seconds", type=float, default=40, help="over which customers come and faults strike"
    )
    parser.add_argument("--faults", type=int, default=24)
    parser.add_argument("--kinds", help="only these, with commas between", default=",".join(NAMES))
    parser.add_argument("--scene", choices=SCENES, help="one fault in the middle, instead of a schedule")
    parser.add_argument("--plant", help="a bug that has to be found; see planted/sitecustomize.py")
    return parser.parse_args()


def _order(given: argparse.Namespace) -> Order:
    if given.scene:
        return SCENES[given.scene]
    seed = secrets.randbelow(1_000_000) if given.seed is None else given.seed
    kinds = [kind for kind in KINDS if kind.name in given.kinds.split(",")]
    return Order(
        conversations=given.conversations,
        seconds=given.seconds,
        faults=schedule(seed, given.faults, given.seconds, kinds),
        seed=seed,
        plant=given.plant,
    )


if __name__ == "__main__":
    sys.exit(main())
