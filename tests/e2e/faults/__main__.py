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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import uvloop

from tests.e2e.faults import report
from tests.e2e.faults.run import Order, carry_out
from tests.e2e.faults.scenes import SCENES
from tests.e2e.faults.schedule import KINDS, NAMES, schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is done, unless other options say so; see `schedule`."""

    conversations: int
    seconds: float
    faults: int
    shorter: float = 1.0


WHOLE: Final = Size(conversations=200, seconds=40, faults=24)
SMALL: Final = Size(conversations=30, seconds=8, faults=14, shorter=0.4)


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
    parser.add_argument(
        "--small", action="store_true", help="a seed of less than a minute, as in `make test`"
    )
    parser.add_argument("--conversations", type=int)
    parser.add_argument("--seconds", type=float, help="over which customers come and faults strike")
    parser.add_argument("--faults", type=int)
    parser.add_argument("--kinds", help="only these, with commas between", default=",".join(NAMES))
    parser.add_argument("--scene", choices=SCENES, help="one fault in the middle, instead of a schedule")
    parser.add_argument("--plant", help="bugs that have to be found, see planted/sitecustomize.py")
    return parser.parse_args()


def _order(given: argparse.Namespace) -> Order:
    if given.scene:
        return replace(SCENES[given.scene], plant=given.plant)
    seed = secrets.randbelow(1_000_000) if given.seed is None else given.seed
    kinds = [kind for kind in KINDS if kind.name in given.kinds.split(",")]
    size = SMALL if given.small else WHOLE
    seconds = given.seconds or size.seconds
    faults = size.faults if given.faults is None else given.faults
    return Order(
        conversations=given.conversations or size.conversations,
        seconds=seconds,
        faults=schedule(seed, faults, seconds, kinds, shorter=size.shorter),
        seed=seed,
        plant=given.plant,
    )


if __name__ == "__main__":
    sys.exit(main())
