"""What a set of runs of one test shows, and what lies between two sets. Pure arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

from parley.engine.stats.apart import Around, apart
from parley.engine.stats.intervals import bootstrap_mean, wilson
from parley.engine.stats.results import mean_of, percentile


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """One run of a set. `answer_ms` are the gateway's calls, in milliseconds."""

    id: UUID
    revision: str
    created_at: datetime
    state: str
    outcome: str | None
    score: Decimal | None
    cost: Decimal
    turns: int
    took_ms: int | None
    answer_ms: tuple[int, ...] = ()

    @property
    def is_executed(self) -> bool:
        """Whether it was carried out to an outcome."""
        return self.state == "succeeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSet:
    """What a set of runs shows. Shares and means are of executed runs, None where too few tell.

    `outcomes` counts every run by its outcome, or by its state where it has none.
    """

    runs: tuple[ComparedRun, ...]
    outcomes: dict[str, int]
    success: Around | None
    score: Around | None
    cost_usd: Around | None
    turns: float | None
    took_ms: tuple[int | None, int | None]
    answer_ms: tuple[int | None, int | None]

    @property
    def executed(self) -> int:
        """How many runs came to an outcome."""
        return sum(run.is_executed for run in self.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """By how much the right set is above the left one."""

    success: Around | None
    score: Around | None
    cost_usd: Around | None


def run_set(runs: Sequence[ComparedRun], seed: str) -> RunSet:
    """What `runs` show together. The same runs and seed always give the same."""
    executed = [run for run in runs if run.is_executed]
    answers = [took for run in executed for took in run.answer_ms]
    times = [run.took_ms for run in executed if run.took_ms is not None]
    mean_turns = mean_of([Fraction(run.turns) for run in executed])
    return RunSet(
        runs=tuple(runs),
        outcomes=dict(Counter(run.outcome or run.state for run in runs)),
        success=_share(sum(run.outcome == "success" for run in executed), len(executed)),
        score=_mean((run.score for run in executed), f"{seed}/score"),
        cost_usd=_mean((run.cost for run in executed), f"{seed}/cost"),
        turns=None if mean_turns is None else float(mean_turns),
        took_ms=(percentile(times, 50), percentile(times, 95)),
        answer_ms=(percentile(answers, 50), percentile(answers, 95)),
    )


def gap(left: RunSet, right: RunSet) -> Gap:
    """What lies between two sets; None where one of them tells too little."""
    return Gap(
        success=_apart(left.success, right.success),
        score=_apart(left.score, right.score),
        cost_usd=_apart(left.cost_usd, right.cost_usd),
    )


def _apart(left: Around | None, right: Around | None) -> Around | None:
    return None if left is None or right is None else apart(left, right)


def _share(passed: int, total: int) -> Around | None:
    interval = wilson(passed, total)
    return None if interval is None else Around(passed / total, interval)


def _mean(values: Iterable[Decimal | None], seed: str) -> Around | None:
    exact = [Fraction(value) for value in values if value is not None]
    mean, interval = mean_of(exact), bootstrap_mean(exact, seed)
    return None if mean is None or interval is None else Around(float(mean), interval)
