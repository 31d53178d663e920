"""What comes next for an evaluation that is carried out. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

OPEN_STATES = ("in_progress", "scoring")

Step: TypeAlias = Literal["start", "stop", "close", "wait", "cancel", "let_go"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where an evaluation stands, counted from its results and their runs."""

    state: str
    owed: int
    """Cases and repetitions that have no result, not even one that waits for its run."""
    open: int
    """Results that wait for the end of their run."""
    open_runs: int
    """Runs that have not ended; more than `open` once the evaluation was cancelled."""
    concurrency: int
    spent_usd: Decimal
    """What its runs have cost, those under way as far as they are."""
    budget_usd: Decimal | None
    seed: int

    @property
    def is_spent(self) -> bool:
        """Whether the budget allows nothing more."""
        return self.budget_usd is not None and self.spent_usd >= self.budget_usd


def next_step(now: Standing) -> Step:
    """The next step.

    `start` one more case; `stop` at the budget: what is owed is skipped, what runs goes on to its end;
    `close`: nothing is owed any more; `wait` for ends; `cancel` the runs of an evaluation that has ended;
    `let_go` of one that has ended with all its runs.
    """
    if now.state not in OPEN_STATES:
        return "cancel" if now.open_runs else "let_go"
    if now.state == "scoring":
        return "wait"
    if not now.owed:
        return "close"
    if now.is_spent:
        return "stop"
    return "start" if now.open < now.concurrency else "wait"
