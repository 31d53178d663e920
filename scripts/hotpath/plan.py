"""What is measured, how much of it, and how often."""

from __future__ import annotations

from dataclasses import dataclass

from scripts.hotpath.load import Load

TARGETS = {"engine": 1.2, "direct": 1.6, "persisted": 2.2}
WALL_TARGETS = {"direct": 1.15, "persisted": 1.3}
MEMORY_TARGET_KB = 100.0
FIRST_REQUEST_TARGET_MS = {"median": 40.0, "p95": 80.0}
STATEMENTS_TARGET = 4.0
SCRIPTED_TARGET_MS = 5.0
"""Product issue, "Done when"."""

MEASURES = ("engine", "direct", "persisted", "wall", "first-request", "statements", "scripted")
PACED_MS = 5.0
CALL_MS = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One of the four situations: how many conversations, and how their chunks come."""

    load: Load
    gap_ms: float

    @property
    def name(self) -> str:
        """As the table calls it."""
        return f"{self.load.at_once} {'paced 5 ms' if self.gap_ms else 'burst'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is measured. Without `wall_rounds` the wall is left out."""

    sizes: tuple[int, ...]
    """Conversations at once."""
    turns: int
    rounds: int
    wall_rounds: int
    first_requests: int
    burst_waves: int
    """Conversations in each of the 16 slots of a burst, which is over too soon to be measured well."""

    def cells(self) -> tuple[Cell, ...]:
        """The situations to be measured: four in a full run."""
        return tuple(
            Cell(load=self._load(at_once, waves), gap_ms=gap_ms)
            for at_once, waves, gap_ms in (
                (16, self.burst_waves, 0.0),
                (16, 1, PACED_MS),
                (200, 1, 0.0),
                (200, 1, PACED_MS),
            )
            if at_once in self.sizes
        )

    def wall_load(self) -> Load:
        """200 conversations at once."""
        return self._load(200, 1)

    def _load(self, at_once: int, waves: int) -> Load:
        return Load(conversations=at_once * waves, at_once=at_once, turns=self.turns)


FULL = Plan(sizes=(16, 200), turns=10, rounds=3, wall_rounds=2, first_requests=100, burst_waves=3)
QUICK = Plan(sizes=(16,), turns=10, rounds=1, wall_rounds=0, first_requests=20, burst_waves=2)
