"""When somebody is told of a run that has ended. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

RunNews: TypeAlias = Literal["test.failing", "test.recovered", "behaviour.lost", "behaviour.regained"]
"""What is told after a run. The first two are about execution, the others about the agent's behaviour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """The notification fields of a test."""

    failure: bool = True
    threshold: int = 1
    recovery: bool = True
    outcome: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What a test remembers of its runs."""

    failures: int = 0
    """Failed runs since the last that succeeded."""
    failing_since: datetime | None = None
    """End of the first of them."""
    alerted_at: datetime | None = None
    """When they were told; None while they were not."""
    last_outcome: str | None = None
    """Outcome of the last run that succeeded: success, loss or incomplete."""
    outcome_alerted_at: datetime | None = None
    """When the turn away from success was told; None without one, and while it was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """What counts of a run that has ended."""

    run_id: UUID
    state: str
    """succeeded, failed or cancelled."""
    outcome: str | None
    at: datetime
    error_code: str | None = None
    error_message: str | None = None


def after(
    health: Health, wishes: Wishes, end: RunEnd, *, has_readers: bool = True
) -> tuple[Health, Sequence[RunNews]]:
    """The health after one more run, and what is to be told.

    Without readers nothing counts as told: whoever comes later hears of a streak at its next failure, and
    of no recovery from what they never heard of.
    """
    if end.state == "failed":
        return _after_failure(health, wishes, end, has_readers)
    if end.state == "succeeded":
        return _after_success(health, wishes, end, has_readers)
    return health, ()


def _after_failure(
    health: Health, wishes: Wishes, end: RunEnd, has_readers: bool
) -> tuple[Health, Sequence[RunNews]]:
    counted = replace(health, failures=health.failures + 1, failing_since=health.failing_since or end.at)
    is_due = wishes.failure and health.alerted_at is None and counted.failures >= wishes.threshold
    if is_due and has_readers:
        return replace(counted, alerted_at=end.at), ("test.failing",)
    return counted, ()


def _after_success(
    health: Health, wishes: Wishes, end: RunEnd, has_readers: bool
) -> tuple[Health, Sequence[RunNews]]:
    told: list[RunNews] = []
    if health.alerted_at is not None and wishes.recovery and has_readers:
        told.append("test.recovered")
    is_good, was_good = end.outcome == "success", health.last_outcome == "success"
    outcome_alerted_at = health.outcome_alerted_at
    if is_good:
        if outcome_alerted_at is not None and wishes.outcome and has_readers:
            told.append("behaviour.regained")
        outcome_alerted_at = None
    elif was_good and wishes.outcome and has_readers:
        told.append("behaviour.lost")
        outcome_alerted_at = end.at
    return Health(last_outcome=end.outcome, outcome_alerted_at=outcome_alerted_at), told
