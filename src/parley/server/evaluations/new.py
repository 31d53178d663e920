"""What producers hand over: plain values, checked where they came in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any, Literal, TypeAlias
from uuid import UUID

CaseKind: TypeAlias = Literal["custom", "simulated", "scripted"]
EndedStatus: TypeAlias = Literal["rated", "failed", "skipped"]

OPEN_FOR = timedelta(hours=24)
"""An evaluation that is still open after this expires (product contract)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCase:
    """A case to be frozen. `case_id` is stable over versions, `content_hash` tells what is asked.

    `grader_hash` and `target_hash` tell what is particular to the case; None where the evaluation's
    grading tells it all, or the target is not known.
    """

    case_id: str
    index: int
    kind: CaseKind
    name: str
    content: Mapping[str, Any]
    content_hash: str
    grader_hash: str | None = None
    target_hash: str | None = None
    repetitions: int | None = None
    """Of this case; None for as many as the evaluation's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvaluation:
    """An evaluation to be begun: exactly one of `dataset_id` and `suite_id`, and at least one case.

    `grading` is the grader by content, pass mark included; its hash is what makes evaluations comparable,
    so it holds nothing that changes from one to the next.
    """

    id: UUID
    dataset_id: UUID | None = None
    suite_id: UUID | None = None
    name: str
    version: int
    cases: Sequence[NewCase]
    grading: Mapping[str, Any]
    pass_rating: Decimal | None = None
    settings_id: UUID | None = None
    split: str | None = None
    repetitions: int = 1
    run_source: str | None = None
    commit: str | None = None
    branch: str | None = None
    pull_request: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    open_for: timedelta | None = OPEN_FOR


@dataclass(frozen=True, slots=True, kw_only=True)
class NewResult:
    """A result as it comes in. With `ended` it is scored already, without it waits.

    `key` is the sender's idempotency key; results that we make ourselves need none.
    """

    id: UUID
    case_id: str
    repetition: int
    key: str | None = None
    batch_id: str | None = None
    transcript: Mapping[str, Any] | None = None
    duration_ms: int | None = None
    run_id: UUID | None = None
    ended: Score | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How a result ends. Raises ValueError for a shape that the contract does not know.

    `rated` has a rating 0..10 and a verdict; `failed` is the agent's failure: 0, not passed; `skipped` is
    ours, the judge's or the balance's: neither. `cost_usd` is added to what the result cost before.
    """

    status: EndedStatus
    rating: Decimal | None = None
    passed: bool | None = None
    justification: str | None = None
    checks: Sequence[Mapping[str, Any]] = ()
    error: Mapping[str, str] | None = None
    judgement: Mapping[str, Any] | None = None
    cost_usd: Decimal = Decimal(0)
    duration_ms: int | None = None

    def __post_init__(self) -> None:
        shape = (self.rating is not None, self.passed is not None)
        if shape != ((False, False) if self.status == "skipped" else (True, True)):
            raise ValueError(f"a {self.status} result does not look like this")
        if self.rating is not None and not (self.rating.is_finite() and 0 <= self.rating <= 10):
            raise ValueError("a rating lies in 0..10")
        if self.status == "failed" and (self.rating != 0 or self.passed):
            raise ValueError("a failed result has the rating 0 and did not pass")


def failed(kind: str, message: str, **more: Any) -> Score:
    """The score of an agent that failed by itself."""
    error = {"type": kind, "message": message}
    return Score(status="failed", rating=Decimal(0), passed=False, error=error, **more)


def skipped(kind: str, message: str, **more: Any) -> Score:
    """The score of a result that nobody could rate, through no fault of the agent."""
    return Score(status="skipped", error={"type": kind, "message": message}, **more)
