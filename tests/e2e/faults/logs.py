"""What the processes wrote, and the errors among it that only a fault explains."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

LINGERS_S: Final = 20.0
"""How long after its end a fault explains an error: a statement's timeout and a grace time."""


@dataclass(slots=True)
class Strike:
    """A fault that took place, on the clock of the logs (seconds since 1970); it may be under way."""

    kind: str
    began_at: float
    ended_at: float = float("inf")

    def explains(self, error: Explained, at: float) -> bool:
        """Whether it may have led to that error at that time."""
        return self.kind.startswith(error.kinds) and self.began_at <= at <= self.ended_at + LINGERS_S


@dataclass(frozen=True, slots=True)
class Explained:
    """An error that is none of ours while a fault of `kinds` lasts, and one of ours at any other time."""

    begins: str
    kinds: tuple[str, ...]
    why: str


EXPLAINED: Final = (
    Explained(
        "Exception closing connection",
        ("postgres",),
        "SQLAlchemy's, of a process that leaves while the server does not answer its farewell",
    ),
    Explained(
        "Cancel ",
        ("postgres",),
        "uvicorn's, when the grace time is over: requests that still wait for a statement get their 503",
    ),
    Explained(
        "grace time over",
        ("postgres",),
        "the worker's: a run cannot be released in the database, so it is left to its lease",
    ),
    Explained(
        "a direct evaluation could not be settled",
        ("postgres",),
        "the API's: its charges cannot be written, so the sweep closes it with what was settled before",
    ),
)


def trouble(line: str, strikes: Sequence[Strike]) -> str | None:
    """What one line tells of an error that no fault explains."""
    try:
        said = json.loads(line)
    except ValueError:
        return line[:300] if line.strip() else None
    if said.get("level") not in ("error", "critical") and "exception" not in said:
        return None
    if _is_explained(said, strikes):
        return None
    last = str(said.get("exception", "")).strip().splitlines()[-1:]
    return f"{said.get('event')} {' '.join(last)}"[:400]


def _is_explained(said: dict[str, Any], strikes: Sequence[Strike]) -> bool:
    at = datetime.fromisoformat(said["timestamp"]).timestamp()
    errors = [error for error in EXPLAINED if str(said.get("event", "")).startswith(error.begins)]
    return any(strike.explains(error, at) for error in errors for strike in strikes)
