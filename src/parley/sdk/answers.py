"""What the service answers, typed. Fields that this release does not know are kept as extra ones."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    """The base of all."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True, populate_by_name=True)


class WhoAmI(Answer):
    """Who is calling."""

    account_id: str
    account_name: str
    plan: str
    kind: str
    scopes: list[str]


class Limits(Answer):
    """What the plan allows, and where the account stands; see docs/how-to/money.md."""

    plan: str


class Balance(Answer):
    """What is left, US dollars."""

    balance: float


class Gateway(Answer):
    """A system under test, without its secrets."""

    id: str
    name: str
    slug: str
    base_url: str


class RunError(Answer):
    """Why a run failed."""

    code: str
    message: str
    scope: str
    turn: int


class Run(Answer):
    """One run in short. `succeeded` means executed; how the agent behaved is `outcome`."""

    id: str
    test_id: str
    state: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    outcome: str | None
    score: float | None
    cost: float
    error: RunError | None
    trigger: str
    revision: str
    seed: int

    @property
    def is_over(self) -> bool:
        """Whether it has ended, however it did."""
        return self.state in ("succeeded", "failed", "cancelled")

    @property
    def duration_s(self) -> float | None:
        """From its start to its end, seconds; None before the end."""
        if self.started_at is None or self.finished_at is None:
            return None
        return (self.finished_at - self.started_at).total_seconds()


class RunDetail(Run):
    """Everything about one run. `conversation` holds messages and opinions in their order."""

    test_name: str
    definition: dict[str, Any]
    result: dict[str, Any] | None
    conversation: list[dict[str, Any]]


class AgenticTestLine(Answer):
    """A test in a list, without the fields that may be large."""

    id: str
    name: str
    gateway: str
    cron: str | None
    enabled: bool
    created_at: datetime
    updated_at: datetime
    latest_run: Run | None


class AgenticTest(AgenticTestLine):
    """A whole test; `revision` changes with everything that is evaluated."""

    goal: str | dict[str, Any] | list[dict[str, Any]]
    validation_criteria: str | dict[str, Any] | list[dict[str, Any]] | None
    max_turns: int
    profile: str
    seed: int | None
    metadata: dict[str, str] = Field(default_factory=dict)
    revision: str
