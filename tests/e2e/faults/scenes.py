"""Scenes: one fault in the middle of a hundred conversations, as an acceptance names it, or of thirty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.e2e.faults.run import Order
from tests.e2e.faults.schedule import PROCESSES, WORKERS, Fault

_MIDDLE_S: Final = 6.0


def _scene(*faults: Fault, all_of_a_wait_counts: bool = False, conversations: int = 100) -> Order:
    return Order(
        conversations=conversations,
        seconds=5,
        faults=faults,
        all_of_a_wait_counts=all_of_a_wait_counts,
    )


SCENES: Final[Mapping[str, Order]] = {
    "kill": _scene(Fault(at_s=_MIDDLE_S, kind="kill", target="worker-1", for_s=1), all_of_a_wait_counts=True),
    "flush": _scene(
        Fault(at_s=_MIDDLE_S, kind="redis-flush", target="redis", for_s=0), all_of_a_wait_counts=True
    ),
    "kill-and-flush": _scene(
        Fault(at_s=4, kind="kill", target="worker-1", for_s=1),
        Fault(at_s=4.5, kind="redis-flush", target="redis", for_s=0),
        all_of_a_wait_counts=True,
        conversations=30,
    ),
    "again-and-kill": _scene(
        Fault(at_s=2.5, kind="queue-repeats", target="redis", for_s=4),
        *(Fault(at_s=6.6, kind="kill", target=worker, for_s=0.2) for worker in WORKERS),
        conversations=20,
    ),
    "deploy": _scene(
        *(Fault(at_s=_MIDDLE_S, kind="stop", target=process, for_s=0.1) for process in PROCESSES),
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
    ),
}
