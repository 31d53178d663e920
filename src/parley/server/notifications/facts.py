"""What a notification is about, as it is stored and as receivers of the JSON form read it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from parley.server.kit.schemas import Instant
from parley.server.notifications.policy import Health, RunEnd, RunNews

NewsKind: TypeAlias = RunNews | Literal["gate.failed", "channel.test"]


class AboutTest(BaseModel):
    """The test a run belongs to, under the name it had then."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    name: str


class AboutError(BaseModel):
    """Why a run failed."""

    model_config = ConfigDict(frozen=True)

    code: str
    message: str


class AboutRun(BaseModel):
    """The run that was the occasion."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    state: str
    outcome: str | None
    finished_at: Instant
    error: AboutError | None


class AboutGate(BaseModel):
    """A recorded gate that failed, with the checks that failed and why."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    evaluation_id: UUID
    name: str
    """Of the dataset or suite, as it was then."""
    branch: str | None
    commit: str | None
    caller: str | None
    checks: list[str]
    details: list[str]
    at: Instant


class Facts(BaseModel):
    """All of it. Without test, run and gate it is a message sent to try a channel."""

    model_config = ConfigDict(frozen=True)

    account: str
    """The account's name."""
    test: AboutTest | None = None
    run: AboutRun | None = None
    failures: int | None = None
    """Failed runs in a row: until now, or until the recovery."""
    since: Instant | None = None
    """When what is told began, or when what is over began."""
    previous_outcome: str | None = None
    """Outcome of the run before, where the behaviour has turned."""
    gate: AboutGate | None = None


def facts_of(kind: RunNews, account: str, test: AboutTest, before: Health, now: Health, end: RunEnd) -> Facts:
    """The facts of one piece of news, from the test's health before and after the run."""
    is_about_execution = kind in ("test.failing", "test.recovered")
    return Facts(
        account=account,
        test=test,
        run=_run(end),
        failures=max(before.failures, now.failures) if is_about_execution else None,
        since=_since(kind, before, now),
        previous_outcome=None if is_about_execution else before.last_outcome,
    )


def _since(kind: RunNews, before: Health, now: Health) -> datetime | None:
    match kind:
        case "test.failing":
            return now.failing_since
        case "test.recovered":
            return before.failing_since
        case "behaviour.lost":
            return now.outcome_alerted_at
        case "behaviour.regained":
            return before.outcome_alerted_at


def _run(end: RunEnd) -> AboutRun:
    error = None
    if end.error_code is not None:
        error = AboutError(code=end.error_code, message=end.error_message or "")
    return AboutRun(id=end.run_id, state=end.state, outcome=end.outcome, finished_at=end.at, error=error)
