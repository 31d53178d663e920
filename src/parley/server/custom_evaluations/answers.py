"""What this plane answers: bare bodies in camelCase, ids as `id` and `_id`."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pydantic import ConfigDict, Field, computed_field
from pydantic.alias_generators import to_camel

from parley.server.evaluations.figures import Figure
from parley.server.kit.schemas import Answer, Instant


class ShellAnswer(Answer):
    """The base of all."""

    model_config = ConfigDict(
        frozen=True, from_attributes=True, populate_by_name=True, alias_generator=to_camel
    )


class Named(ShellAnswer):
    """Something with an id, told twice: the flow that this plane knows reads `_id`."""

    id: UUID

    @computed_field(alias="_id", description="The same as `id`.")
    def again(self) -> UUID:
        """The id once more."""
        return self.id


class Page(ShellAnswer):
    """Where a list stands."""

    limit: int
    offset: int
    has_more: bool
    next_cursor: str | None


class DatasetLine(Named):
    """A dataset in a list."""

    name: str
    version: int
    case_count: int
    created_at: Instant
    updated_at: Instant


class DatasetReply(DatasetLine):
    """A dataset with its cases, as they stand in this version."""

    description: str | None = None
    acceptance_criteria: str | None = None
    rejection_criteria: str | None = None
    evaluation_criteria: str | None = None
    questions: list[dict[str, Any]] = Field(
        description="As they were sent, each with `id`, `_id`, `index` and `contentHash`."
    )
    ignored_fields: list[str] = Field(default_factory=list)


class DatasetPage(ShellAnswer):
    """Datasets, newest first."""

    datasets: list[DatasetLine]
    page: Page


class SettingsReply(Named):
    """Evaluation settings."""

    name: str
    criteria: str | None
    judge: dict[str, str]
    votes: int
    checks: list[dict[str, Any]]
    pass_rating: Figure
    content_hash: str
    created_at: Instant
    ignored_fields: list[str] = Field(default_factory=list)


class SettingsPage(ShellAnswer):
    """Evaluation settings, newest first."""

    evaluation_settings: list[SettingsReply]
    page: Page


class RunReply(Named):
    """A run: the evaluation of a dataset."""

    run_id: UUID
    dataset_id: UUID
    dataset_version: int
    name: str
    status: str
    split: str | None
    repetitions: int
    run_source: str | None
    commit: str | None
    branch: str | None
    pull_request: str | None
    evaluation_settings_id: UUID | None
    pass_rating: Figure | None
    baseline_run_id: UUID | None
    created_at: Instant
    completed_at: Instant | None
    expires_at: Instant | None
    live_statistics: dict[str, Any] | None = Field(
        default=None, description="As of now; in a list null until the run is completed."
    )
    ignored_fields: list[str] = Field(default_factory=list)


class RunPage(ShellAnswer):
    """Runs, newest first."""

    runs: list[RunReply]
    page: Page


class Owed(ShellAnswer):
    """A result that a run still waits for."""

    case_id: str
    question_index: int
    run_number: int


class OwedReply(ShellAnswer):
    """All results that a run still waits for."""

    run_id: UUID
    missing: list[Owed]


class RefusedResult(ShellAnswer):
    """A result that was not taken."""

    index: int = Field(description="Its place in the batch, from 0.")
    idempotency_key: str | None
    problems: list[dict[str, str]] = Field(description="`{field, problem}` each.")


class ScoredResult(ShellAnswer):
    """A result of the batch that has been scored."""

    idempotency_key: str | None
    case_id: str
    run_number: int
    status: str
    rating: Figure | None
    passed: bool | None
    justification: str | None


class BatchReply(ShellAnswer):
    """What became of a batch."""

    run_id: UUID
    batch_id: str | None
    accepted: int
    duplicates: int
    failed_validation: list[RefusedResult]
    scored_results: list[ScoredResult]
    live_statistics: dict[str, Any]
    ignored_fields: list[str]


class FinalizeReply(ShellAnswer):
    """Where a run stands after its last result."""

    run_id: UUID
    status: str = Field(description="completed, or scoring: then ask again.")
    live_statistics: dict[str, Any]
    missing_cases: list[Owed]
    ignored_fields: list[str] = Field(default_factory=list)


class ResultPage(ShellAnswer):
    """Results of a run, in the order of the cases."""

    results: list[dict[str, Any]]
    page: Page
