"""What the service answers about evaluations, typed: `/api/v1/evaluations`, suites and gates."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from parley.sdk.answers import Answer


class Interval(Answer):
    """A share with its Wilson interval; null without any result."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Statistics(Answer):
    """What the results of an evaluation add up to; docs/reference/evaluations.md explains each figure."""

    expected_count: int
    result_count: int
    rated_count: int
    failed_count: int
    skipped_count: int
    coverage: float | None
    average_rating: float | None
    pass_rate: Interval | None
    flaky_cases: list[str] = Field(default_factory=list)
    cost: float | None = None


class Evaluation(Answer):
    """One execution of a set of cases."""

    id: str
    kind: str
    name: str | None = None
    dataset_id: str | None = None
    suite_id: str | None = None
    state: str
    split: str | None = None
    repetitions: int = 1
    commit: str | None = None
    branch: str | None = None
    created_at: datetime
    completed_at: datetime | None = None
    statistics: Statistics | None = None
    error: dict[str, Any] | str | None = None

    @property
    def is_over(self) -> bool:
        """Whether it will not change any more."""
        return self.state in ("completed", "failed", "expired", "cancelled")


class CaseResult(Answer):
    """One case, one repetition. `rating` and `passed` are None where nothing could be said."""

    id: str
    case_id: str
    index: int
    name: str | None = None
    repetition: int = 1
    kind: str = ""
    status: str
    rating: float | None = None
    passed: bool | None = None
    justification: str | None = None
    cost: float | None = None
    duration_ms: float | None = None
    error: dict[str, Any] | None = None
    run_id: str | None = None


class Attempt(Answer):
    """One attempt at a scripted case. Costs are None where they are unknown, `record` in lists.

    `record` is `parley.engine.script.record.AttemptRecord` on the wire.
    """

    id: str
    case_id: str
    index: int
    name: str | None = None
    repetition: int = 1
    target: str
    state: str
    contact: str | None = None
    status: str | None = None
    reason: str | None = None
    duration_ms: float | None = None
    workflow_cost: float | None = None
    judge_cost: float | None = None
    suite_revision: str | None = None
    record: dict[str, Any] | None = None


class GateCheck(Answer):
    """One check of a gate; `passed` is None where it could not be decided."""

    check: str
    passed: bool | None
    threshold: float | None = None
    actual: float | None = None
    detail: str = ""


class GateAnswer(Answer):
    """What a gate says. `passed` is true for the verdict `passed` alone, not for `inconclusive`."""

    evaluation_id: str
    verdict: str
    passed: bool
    checks: list[GateCheck]
    average_rating: float | None = None
    coverage: float | None = None
    baseline_id: str | None = None
    baseline_average: float | None = None
    first_run: bool = False
    note: str | None = None
    recorded: bool = False


class Comparison(Answer):
    """An evaluation beside a baseline. `cases` holds the class of each case."""

    evaluation_id: str
    baseline_id: str
    comparable: bool
    differences: list[dict[str, Any]]
    delta: float | None
    p_value: float | None
    counts: dict[str, int]
    cases: list[dict[str, Any]]


class Flip(Answer):
    """A verdict that another grader turned: passed, not passed, or the status where there is none."""

    case_id: str
    repetition: int
    was: str
    now: str = Field(alias="is")
    rating_was: float | None
    rating_is: float | None


class Suite(Answer):
    """A named set of cases."""

    id: str
    name: str
