"""Wire shapes of `/api/v1/evaluations/{id}/attempts`."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias
from uuid import UUID

from pydantic import Field

from parley.engine.script.status import Status
from parley.server.kit.schemas import Answer, Instant, Usd

State: TypeAlias = Literal["queued", "running", "finished"]
TargetKind: TypeAlias = Literal["gateway", "app", "process"]
Contact: TypeAlias = Literal["retrying", "reconnecting", "unknown"]


class AttemptLine(Answer):
    """An attempt in a list."""

    id: UUID
    evaluation_id: UUID
    result_id: UUID = Field(description="Its case result.")
    case_id: str
    index: int = Field(description="Of the case, for display.")
    name: str = Field(description="Of the case.")
    repetition: int
    session_id: str = Field(description="What the agent knows the attempt by.")
    target: TargetKind = Field(
        description="gateway and app are played through the service, process in the customer's own code."
    )
    state: State
    contact: Contact | None = Field(
        description="How it stands with a remote app that does not answer as it should; null if it does."
    )
    status: Status | None = Field(description="What it came to; null until it is finished.")
    reason: str | None = Field(description="Why, in one line; null for what passed.")
    duration_ms: int | None
    workflow_cost: Usd | None = Field(description="What the agent cost, US dollars; null is unknown.")
    judge_cost: Usd | None = Field(description="What judging cost, US dollars; null is unknown.")
    created_at: Instant
    started_at: Instant | None
    finished_at: Instant | None


class AttemptDetail(AttemptLine):
    """An attempt with its record."""

    suite_revision: str
    record: dict[str, Any] | None = Field(
        description="The attempt record of docs/reference/scripted-suites.md; so far, while it is played."
    )
