"""What goes wrong when: a pure function of a seed, so that a run that failed can be made again."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

WORKERS: Final = ("worker-1", "worker-2")
PROCESSES: Final = ("api", *WORKERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A way to fail: whom it may strike, and for how long (seconds, from and to)."""

    name: str
    says: str
    targets: tuple[str, ...]
    lasts: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault. `at_s` counts from the beginning of the load; it is over after `for_s`."""

    at_s: float
    kind: str
    target: str
    for_s: float

    def __str__(self) -> str:
        lasts = f" for {self.for_s:.1f} s" if self.for_s else ""
        return f"{self.at_s:6.1f} s  {self.kind} {self.target}{lasts}"


KINDS: Final = (
    Kind(name="kill", says="SIGKILL; started again after the time", targets=PROCESSES, lasts=(0.2, 4)),
    Kind(name="stop", says="SIGTERM, as a deploy does; started again", targets=PROCESSES, lasts=(0.1, 1)),
    Kind(
        name="freeze",
        says="SIGSTOP, SIGCONT after the time: a worker may outsleep its lease",
        targets=PROCESSES,
        lasts=(1, 7),
    ),
    Kind(
        name="outsleep",
        says="SIGSTOP of a worker for longer than its lease, which another takes over meanwhile",
        targets=WORKERS,
        lasts=(6, 9),
    ),
    Kind(name="kill-worker", says="SIGKILL of a worker", targets=WORKERS, lasts=(0.2, 4)),
    Kind(name="stop-api", says="SIGTERM of the API", targets=("api",), lasts=(0.1, 1)),
    Kind(
        name="postgres-restart", says="a fast shutdown, then a start", targets=("postgres",), lasts=(0.2, 3)
    ),
    Kind(
        name="postgres-crash",
        says="all its processes killed, recovery at the next start",
        targets=("postgres",),
        lasts=(0.2, 2),
    ),
    Kind(name="postgres-cut", says="every connection of one process is reset", targets=PROCESSES),
    Kind(
        name="postgres-away",
        says="connections of one process are reset, new ones refused",
        targets=PROCESSES,
        lasts=(0.5, 5),
    ),
    Kind(
        name="postgres-silent",
        says="nothing passes between one process and Postgres",
        targets=PROCESSES,
        lasts=(1, 9),
    ),
    Kind(
        name="postgres-slow", says="every piece takes 0.1 s longer each way", targets=PROCESSES, lasts=(1, 5)
    ),
    Kind(
        name="postgres-answers-lost",
        says="statements arrive and take effect, answers do not; then a reset",
        targets=PROCESSES,
        lasts=(0.1, 1),
    ),
    Kind(name="postgres-full", says="all its connections are taken", targets=("postgres",), lasts=(0.5, 4)),
    Kind(
        name="postgres-read-only",
        says="a failover: connections end, new ones may not write for a while",
        targets=("postgres",),
        lasts=(0.5, 4),
    ),
    Kind(
        name="postgres-locked",
        says="somebody holds a lock on accounts, beyond the statement timeout or not",
        targets=("postgres",),
        lasts=(0.5, 6),
    ),
    Kind(name="redis-restart", says="ended and started again, empty", targets=("redis",), lasts=(0.1, 3)),
    Kind(name="redis-flush", says="FLUSHALL", targets=("redis",)),
    Kind(
        name="redis-read-only",
        says="a replica of nobody: writes are refused",
        targets=("redis",),
        lasts=(1, 5),
    ),
    Kind(name="redis-cut", says="every connection of one process is reset", targets=PROCESSES),
    Kind(
        name="redis-away",
        says="connections of one process are reset, new ones refused",
        targets=PROCESSES,
        lasts=(0.5, 5),
    ),
    Kind(
        name="redis-silent",
        says="nothing passes between one process and Redis",
        targets=PROCESSES,
        lasts=(1, 6),
    ),
    Kind(name="redis-slow", says="every piece takes 0.1 s longer each way", targets=PROCESSES, lasts=(1, 5)),
    Kind(
        name="queue-repeats",
        says="every run under way is announced again, to whoever comes first",
        targets=("redis",),
        lasts=(0.5, 1.5),
    ),
    Kind(name="clients-cut", says="every connection of the clients is reset", targets=("clients",)),
    Kind(
        name="clients-silent",
        says="nothing passes between clients and API",
        targets=("clients",),
        lasts=(0.5, 3),
    ),
)
NAMES: Final = tuple(kind.name for kind in KINDS)


def schedule(
    seed: int, count: int, seconds: float, kinds: Sequence[Kind] = KINDS, *, shorter: float = 1.0
) -> tuple[Fault, ...]:
    """`count` faults over `seconds`. Every kind comes before any comes again.

    `shorter` times as long as usual does each of them last, but for those that have to outlast a lease.
    """
    draw = random.Random(seed)
    dealt = _dealt(draw, count, kinds)
    times = sorted(draw.uniform(0, seconds) for _ in range(count))
    return tuple(
        Fault(
            at_s=round(at_s, 2),
            kind=kind.name,
            target=draw.choice(kind.targets),
            for_s=round(draw.uniform(*kind.lasts) * (1.0 if kind.name == "outsleep" else shorter), 2),
        )
        for at_s, kind in zip(times, dealt, strict=True)
    )


def _dealt(draw: random.Random, count: int, kinds: Sequence[Kind]) -> Sequence[Kind]:
    dealt: list[Kind] = []
    while len(dealt) < count:
        dealt += draw.sample(kinds, len(kinds))
    return dealt[:count]
