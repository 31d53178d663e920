"""Scenes: one fault in the middle of a hundred conversations, as an acceptance names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.e2e.faults.run import LEASE_S, Order
from tests.e2e.faults.schedule import PROCESSES, Fault

LONGEST_WAIT_S: Final = LEASE_S + 15
"""What a run may be held up by a lost worker."""
_MIDDLE_S: Final = 6.0


def _scene(*faults: Fault) -> Order:
    return Order(conversations=100, seconds=5, faults=faults, longest_wait_s=LONGEST_WAIT_S)


SCENES: Final[Mapping[str, Order]] = {
    "kill": _scene(Fault(at_s=_MIDDLE_S, kind="kill", target="worker-1", for_s=1)),
    "flush": _scene(Fault(at_s=_MIDDLE_S, kind="redis-flush", target="redis", for_s=0)),
    "deploy": _scene(
        *(Fault(at_s=_MIDDLE_S, kind="stop", target=process, for_s=0.1) for process in PROCESSES)
    ),
}
