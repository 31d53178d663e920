"""Scenes: one fault in the middle of a hundred conversations, as an acceptance names it, or of thirty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.e2e.faults.run import LEASE_S, Order
from tests.e2e.faults.schedule import PROCESSES, WORKERS, Fault

LONGEST_WAIT_S: Final = LEASE_S + 15
"""What a run may be held up by a lost worker."""
_MIDDLE_S: Final = 6.0


def _scene(
    *faults: Fault,
    longest_wait_s: float | None = LONGEST_WAIT_S,
    leaves_nobody: bool = False,
    conversations: int = 100,
) -> Order:
    return Order(
        conversations=conversations,
        seconds=5,
        faults=faults,
        longest_wait_s=longest_wait_s,
        leaves_nobody=leaves_nobody,
    )


SCENES: Final[Mapping[str, Order]] = {
    "kill": _scene(Fault(at_s=_MIDDLE_S, kind="kill", target="worker-1", for_s=1)),
    "flush": _scene(Fault(at_s=_MIDDLE_S, kind="redis-flush", target="redis", for_s=0)),
    "kill-and-flush": _scene(
        Fault(at_s=4, kind="kill", target="worker-1", for_s=1),
        Fault(at_s=4.5, kind="redis-flush", target="redis", for_s=0),
        conversations=30,
    ),
    "again-and-kill": _scene(
        Fault(at_s=3, kind="queue-repeats", target="redis", for_s=1.5),
        *(Fault(at_s=5, kind="kill", target=worker, for_s=0.2) for worker in WORKERS),
        leaves_nobody=True,
        conversations=20,
    ),
    "deploy": _scene(
        *(Fault(at_s=_MIDDLE_S, kind="stop", target=process, for_s=0.1) for process in PROCESSES),
        leaves_nobody=True,
    ),
    "stop-in-silence": _scene(
        *(
            Fault(at_s=_MIDDLE_S, kind=f"{server}-silent", target=process, for_s=25)
            for server in ("postgres", "redis")
            for process in ("api", "worker-1")
        ),
        *(
            Fault(at_s=_MIDDLE_S + 1, kind="stop", target=process, for_s=0.1)
            for process in ("api", "worker-1")
        ),
        longest_wait_s=None,
    ),
}
