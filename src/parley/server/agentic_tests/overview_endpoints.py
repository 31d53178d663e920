"""`/api/v1/overview`: how the account's tests stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Query
from pydantic import Field

from parley.server.accounts.authenticator import Caller
from parley.server.accounts.callers import requires
from parley.server.agentic_tests.overview import (
    SHOWN,
    Health,
    read_health,
    read_open,
    read_upcoming,
)
from parley.server.db.dependencies import SessionDep
from parley.server.errors import PublicKeyRefused, ScopeMissing
from parley.server.kit.docs import answers_with
from parley.server.kit.requests import room_router
from parley.server.kit.schemas import Answer, Instant, Reply
from parley.server.runs.schemas import RunSummary
from parley.server.runs.service import read_summaries

router = room_router("/overview", "agentic tests")

MOST_DAYS = 30
"""Runs are kept as long (product contract)."""


class TestName(Answer):
    """Which test a line is about."""

    __test__ = False  # no test of pytest's

    id: UUID
    name: str


class HealthLine(Answer):
    """A test and its last run that was carried out or failed."""

    change: Literal["broke", "failing", "recovered", "passing"]
    test: TestName
    run: RunSummary


class OpenLine(Answer):
    """A run that waits or is under way."""

    test: TestName
    run: RunSummary


class UpcomingLine(Answer):
    """A test's next scheduled start."""

    test: TestName
    next_run_at: Instant


class Overview(Answer):
    """How the account's tests stand. Each list is cut at 20 lines; the counts are not."""

    days: int
    counts: dict[Literal["broke", "failing", "recovered", "passing"], int] = Field(
        description="Of the tests that had an end in these days."
    )
    not_passing: list[HealthLine] = Field(description="Tests whose last run was no success, newest first.")
    recovered: list[HealthLine] = Field(description="Tests that succeeded after a run that did not.")
    open_runs: list[OpenLine]
    upcoming: list[UpcomingLine]


@router.get("", summary="How the tests stand", responses=answers_with(PublicKeyRefused, ScopeMissing))
async def overview(
    caller: Annotated[Caller, requires("tests:read")],
    session: SessionDep,
    days: Annotated[int, Query(ge=1, le=MOST_DAYS, description="How far back to look.")] = 7,
) -> Reply[Overview]:
    """What broke, what recovered, what runs now and what is due next.

    A test broke if its last run was no success and the one before was, or there was none before. Cancelled
    runs and runs of suites do not count.
    """
    found = await read_health(session, caller.scope, days)
    not_passing = [one for one in found if one.change in ("broke", "failing")][:SHOWN]
    recovered = [one for one in found if one.change == "recovered"][:SHOWN]
    open_runs = await read_open(session, caller.scope)
    ids = [one.last.run_id for one in (*not_passing, *recovered)] + [one.run_id for one in open_runs]
    runs = await read_summaries(session, caller.scope, ids)
    counts = Counter(one.change for one in found)
    return Reply(
        data=Overview(
            days=days,
            counts={change: counts[change] for change in ("broke", "failing", "recovered", "passing")},
            not_passing=_lines(not_passing, runs),
            recovered=_lines(recovered, runs),
            open_runs=[
                OpenLine(test=TestName(id=one.test_id, name=one.name), run=runs[one.run_id])
                for one in open_runs
                if one.run_id in runs
            ],
            upcoming=[
                UpcomingLine(test=TestName(id=one.test_id, name=one.name), next_run_at=one.next_run_at)
                for one in await read_upcoming(session, caller.scope)
            ],
        )
    )


def _lines(found: list[Health], runs: Mapping[UUID, RunSummary]) -> list[HealthLine]:
    return [
        HealthLine(
            change=one.change,
            test=TestName(id=one.last.test_id, name=one.last.name),
            run=runs[one.last.run_id],
        )
        for one in found
        if one.last.run_id in runs
    ]
