"""Wire shapes of tests. What comes in is read by `definitions`; these go out."""

from __future__ import annotations

from typing import Any, TypeAlias
from uuid import UUID

from pydantic import Field

from parley.server.kit.schemas import Answer, Instant
from parley.server.llm.profiles import ProfileName
from parley.server.runs.schemas import RunSummary

AsGiven: TypeAlias = str | dict[str, Any] | list[dict[str, Any]]
"""Words in the shape in which they were sent."""


class LastSkip(Answer):
    """A scheduled start that was left out, and why."""

    due_at: Instant
    reason: str


class AgenticTestLine(Answer):
    """A test in a list: without the fields that may be large, which its detail tells."""

    id: UUID
    name: str = Field(examples=["Refund of a damaged parcel"])
    gateway: str = Field(
        description="The gateway's slug, or the integrated llm's name.", examples=["shop-support:9f3a"]
    )
    cron: str | None
    schedule: str | None = Field(
        description="The schedule as a sentence.", examples=["Monday to Friday at 06:30 UTC"]
    )
    enabled: bool
    created_at: Instant
    updated_at: Instant
    next_run_at: Instant | None = Field(description="When the schedule starts it next; null without one.")
    last_skip: LastSkip | None = Field(description="The last scheduled start that was left out.")
    consecutive_failures: int = Field(description="Failed runs since the last one that succeeded.")
    last_notification_at: Instant | None
    latest_run: RunSummary | None


class ListedAgenticTest(AgenticTestLine):
    """A test in a list, with the scores that were asked for."""

    scores: list[float] | None = Field(
        description="Of its newest runs, oldest first, runs without a score left out; null unless asked for."
    )


class AgenticTestDetail(AgenticTestLine):
    """A whole test."""

    goal: AsGiven
    validation_criteria: AsGiven | None
    start: list[dict[str, Any]]
    resources: list[dict[str, Any]]
    hooks: list[dict[str, Any]]
    tool_mocks: list[dict[str, Any]]
    profile: ProfileName
    max_turns: int
    minimum_turns: int
    allow_user_exit: bool
    judge_start_turn: int
    loss_threshold: float
    base_threshold: float
    user_sampling: dict[str, float]
    seed: int | None
    metadata: dict[str, str]
    external_user_id: str | None
    failure_notification: bool
    notification_threshold: int
    recovery_notification: bool
    outcome_notification: bool
    revision: str = Field(
        description="Hash of what is evaluated: fields, gateway, llms and prompts. Runs of one revision "
        "may be compared with each other."
    )
    upcoming: list[Instant] = Field(description="The next three scheduled starts.")


class SchedulePreview(Answer):
    """What a schedule means."""

    sentence: str = Field(examples=["every day at 06:30 UTC"])
    upcoming: list[Instant] = Field(description="The next three times.")


class TestsFile(Answer):
    """The tests of a file."""

    tests: list[dict[str, Any]] = Field(description="Bodies of a create, as they were written.")
