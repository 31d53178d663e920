"""How parts add up: the highest status of the parts is that of the whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias, get_args

from parley.engine.script.wire import Wire

Status: TypeAlias = Literal["error", "cancelled", "failed", "inconclusive", "ungraded", "passed"]
"""Of an attempt and of a run, highest first. Failed is behaviour; error is infrastructure, app or judge."""
RANKED: Final[tuple[Status, ...]] = get_args(Status)


class Counts(Wire):
    """Attempts by status."""

    error: int = 0
    cancelled: int = 0
    failed: int = 0
    inconclusive: int = 0
    ungraded: int = 0
    passed: int = 0
    total: int = 0


def highest(statuses: Iterable[Status]) -> Status:
    """The status of a whole with these parts; without any it passed."""
    return min(statuses, key=RANKED.index, default="passed")


def counts_of(statuses: Iterable[Status]) -> Counts:
    """How many there are of each."""
    given = list(statuses)
    return Counts(total=len(given), **{status: given.count(status) for status in RANKED})
