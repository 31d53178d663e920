"""Attempts that are played elsewhere: put together from their events, and ended when they are lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from parley.engine.script.draft import AttemptDraft, AttemptPlan
from parley.engine.script.protocol import RemoteEvent
from parley.engine.script.recheck import inconsistencies
from parley.engine.script.record import AttemptRecord, ErrorRecord, StepRecord

MOST_TOLD = 5
"""Inconsistencies named in an error."""


class Misbehaved(Exception):
    """Events that cannot have come of playing the attempt. `problem` says why."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


@dataclass(slots=True, kw_only=True)
class Followed:
    """An attempt as far as it was heard. `started_at` is epoch milliseconds, None before its start."""

    plan: AttemptPlan
    cursor: int = 0
    started_at: int | None = None
    steps: list[StepRecord] = field(default_factory=list)
    record: AttemptRecord | None = None
    """The whole, once it was told and found right."""

    def take(self, told: RemoteEvent) -> None:
        """Hear one event. What was heard before is passed over. Raises `Misbehaved`."""
        if told.cursor <= self.cursor:
            return
        if told.cursor != self.cursor + 1:
            raise Misbehaved(f"event {told.cursor} came after event {self.cursor}")
        if self.record:
            raise Misbehaved("events came after the last one")
        self._hear(told)
        self.cursor = told.cursor

    def _hear(self, told: RemoteEvent) -> None:
        event = told.event
        match event.type:
            case "case-started":
                self._start(event.at)
            case "step-completed":
                self._add(event.step)
            case "case-completed":
                self._end(event.attempt)

    def _start(self, at: int) -> None:
        if self.started_at is not None and not self.plan.case.replay_safe:
            raise Misbehaved("it began twice, and its case is not declared safe to be replayed")
        self.started_at, self.steps = at, []

    def _add(self, step: StepRecord | None) -> None:
        if step is None or self.started_at is None or step.index != len(self.steps):
            raise Misbehaved("a step was told out of its order")
        self.steps.append(step)

    def _end(self, attempt: AttemptRecord | None) -> None:
        if attempt is None:
            raise Misbehaved("it ended without a record")
        problems = inconsistencies(attempt, self.plan)
        if tuple(self.steps) != attempt.steps:
            problems.append("the steps are not those that were told one by one")
        if attempt.session_id != self.plan.session_id:
            problems.append(f"session_id is {attempt.session_id!r} and should be {self.plan.session_id!r}")
        if problems:
            raise Misbehaved(told_briefly(problems))
        self.record = attempt

    def so_far(self, now_ms: int) -> AttemptRecord:
        """What was heard, as a record that is not over."""
        started_at = now_ms if self.started_at is None else self.started_at
        draft = AttemptDraft(plan=self.plan, started_at=started_at, began_s=0.0, steps=list(self.steps))
        return draft.record(max(0, now_ms - started_at) / 1000)

    def broken_off(self, error: ErrorRecord, now_ms: int) -> AttemptRecord:
        """The attempt as an error with what was heard of it, so far as that is consistent."""
        started_at = now_ms if self.started_at is None else self.started_at
        kept = broken_off(self.plan, self.steps, error, started_at, now_ms)
        return (
            broken_off(self.plan, (), error, started_at, now_ms) if inconsistencies(kept, self.plan) else kept
        )


def broken_off(
    plan: AttemptPlan, steps: Sequence[StepRecord], error: ErrorRecord, started_at: int, now_ms: int
) -> AttemptRecord:
    """The record of an attempt that `error` ended from outside."""
    draft = AttemptDraft(plan=plan, started_at=started_at, began_s=0.0, steps=list(steps), errors=[error])
    return draft.record(max(0, now_ms - started_at) / 1000)


def told_briefly(problems: Sequence[str]) -> str:
    """The first problems, and how many more there are."""
    more = len(problems) - MOST_TOLD
    told = "; ".join(problems[:MOST_TOLD])
    return f"{told}; and {more} more" if more > 0 else told
