"""Wire shapes of `/api/v1/evaluations` and `/api/v1/gates`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

from pydantic import Field

from parley.engine.gate.verdict import CheckName, Verdict
from parley.engine.stats.results import Status
from parley.server.evaluations.figures import Figure, StatisticsReply
from parley.server.kit.schemas import Answer, Body, DecimalIn, Instant, Usd, Visible

State: TypeAlias = Literal["in_progress", "scoring", "completed", "failed", "expired", "cancelled"]


class EvaluationLine(Answer):
    """An evaluation in a list."""

    id: UUID
    kind: Literal["custom", "suite"] = Field(description="custom: of a dataset; suite: of a suite.")
    dataset_id: UUID | None
    suite_id: UUID | None
    name: str = Field(description="Of the dataset or suite, as it was then.")
    version: int = Field(description="Of the dataset or suite.")
    state: State
    split: str | None
    repetitions: int
    case_count: int
    run_source: str | None
    commit: str | None
    branch: str | None
    pull_request: str | None
    settings_id: UUID | None
    grading_hash: str = Field(description="Equal for evaluations that were graded alike, pass mark included.")
    pass_rating: Figure | None
    baseline_id: UUID | None = Field(description="The baseline `latest`, fixed on completion.")
    regrade_of: UUID | None
    pinned: bool
    cost: Usd
    error: dict[str, Any] | None
    created_at: Instant
    completed_at: Instant | None
    ended_at: Instant | None
    expires_at: Instant | None
    statistics: StatisticsReply | None = Field(
        description="In a list null until it is completed; as of now in the detail."
    )


class EvaluationDetail(EvaluationLine):
    """An evaluation with its grader and what its producer was asked for."""

    grading: dict[str, Any]
    options: dict[str, Any]


class CheckOutcome(Answer):
    """How a deterministic check came out."""

    id: str | None
    type: str
    passed: bool | None = Field(description="Null if it could not run.")
    must_pass: bool
    detail: str


class ResultLine(Answer):
    """A case result in a list."""

    id: UUID
    evaluation_id: UUID
    case_id: str
    index: int
    name: str
    repetition: int
    kind: Literal["custom", "simulated", "scripted"]
    status: Status
    rating: Figure | None
    passed: bool | None
    justification: str | None
    checks: list[CheckOutcome]
    cost: Usd
    duration_ms: int | None
    error: dict[str, Any] | None
    run_id: UUID | None
    regraded_from: UUID | None
    lost_scorers: int = Field(
        description="Workers that died over it; what they had asked of a judge is charged to nobody."
    )
    created_at: Instant
    scored_at: Instant | None


class ResultDetail(ResultLine):
    """A case result with what was judged."""

    content: dict[str, Any] = Field(description="What the case asked, as it was frozen.")
    idempotency_key: str | None
    batch_id: str | None
    transcript: dict[str, Any] | None
    judgement: dict[str, Any] | None


class GateCheckReply(Answer):
    """One check of the gate."""

    check: CheckName
    passed: bool | None = Field(description="Null where it cannot be decided.")
    threshold: Figure | None
    actual: Figure | None
    detail: str


class GateReply(Answer):
    """What the gate says."""

    evaluation_id: UUID
    dataset_id: UUID | None
    suite_id: UUID | None
    average_rating: Figure | None
    result_count: int
    rated_count: int
    failed_count: int
    skipped_count: int
    coverage: Figure
    baseline_id: UUID | None
    baseline_average: Figure | None
    checks: list[GateCheckReply]
    passed: bool
    verdict: Verdict
    first_run: bool = Field(description="No baseline was found; regression checks pass.")
    baseline: str = Field(description="What was asked for: latest, latest-passing, pinned or an id.")
    note: str = Field(description="What a sample of this size could show.")
    recorded: bool
    gate_id: UUID | None


class GateRecordReply(Answer):
    """A recorded gate."""

    id: UUID
    evaluation_id: UUID
    dataset_id: UUID | None
    suite_id: UUID | None
    name: str
    branch: str | None
    commit: str | None
    caller: str
    verdict: Verdict
    parameters: dict[str, Any]
    answer: dict[str, Any]
    created_at: Instant


class Flip(Answer):
    """A verdict that another grader turned."""

    case_id: str
    repetition: int
    was: str = Field(description="passed, not passed, or the status without a verdict.")
    now: str = Field(serialization_alias="is")
    rating_was: Figure | None
    rating_is: Figure | None


class Regrade(Body):
    """The grader to judge with again; what is left out stays as it was."""

    profile: Literal["low", "medium", "high"] | None = None
    llm: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    criteria: Annotated[str, Field(min_length=1, max_length=32_000), Visible] | None = None
    case_criteria: (
        Annotated[
            dict[
                Annotated[str, Field(max_length=256)],
                Annotated[str, Field(min_length=1, max_length=32_000), Visible],
            ],
            Field(max_length=1_000),
        ]
        | None
    ) = Field(default=None, description="Of a suite: criteria by case id; `criteria` holds for the others.")
    votes: Literal[1, 3, 5] | None = None
    pass_rating: Annotated[DecimalIn, Field(ge=0, le=10)] | None = None
