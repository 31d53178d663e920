"""What the shell plane answers, typed: datasets, runs and batches. On the wire it is camelCase."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from parley.sdk.answers import Answer


class ShellAnswer(Answer):
    """The base of all; fields are read by their camelCase names."""

    model_config = ConfigDict(
        frozen=True, extra="allow", defer_build=True, populate_by_name=True, alias_generator=to_camel
    )


class FollowUp(Answer):
    """What is asked after the main question."""

    query: str


class MainQuestion(Answer):
    """What a case asks first; what is expected stands beside it as extra fields."""

    query: str


class Question(Answer):
    """A case of a dataset."""

    id: str
    index: int = 0
    main_question: MainQuestion
    follow_up_questions: list[FollowUp] = Field(default_factory=list)


class DatasetLine(ShellAnswer):
    """A dataset in a list."""

    id: str
    name: str
    version: int


class Dataset(DatasetLine):
    """A whole dataset."""

    questions: list[Question]


class GradingSettings(ShellAnswer):
    """A reusable grader."""

    id: str
    name: str


class ShellRun(ShellAnswer):
    """A run of a dataset, as it is made."""

    run_id: str
    dataset_id: str
    status: str
    dataset_version: int | None = None


class OwedResult(ShellAnswer):
    """A result that a run still waits for."""

    case_id: str
    question_index: int
    run_number: int


class Owed(ShellAnswer):
    """All results that a run still waits for."""

    missing: list[OwedResult]


class ScoredResult(ShellAnswer):
    """A result that has been scored."""

    idempotency_key: str
    status: str
    rating: float | None = None
    passed: bool | None = None


class Posted(ShellAnswer):
    """What became of a batch. `failed_validation` lists what was not taken, with reasons."""

    accepted: int
    duplicates: int
    failed_validation: list[dict[str, Any]]
    scored_results: list[ScoredResult] = Field(default_factory=list)


class Finalized(ShellAnswer):
    """Where a run stands: `completed`, or `scoring` when it has to be asked again."""

    run_id: str
    status: str
    missing_cases: list[Any] = Field(default_factory=list)
    live_statistics: dict[str, Any] | None = None
