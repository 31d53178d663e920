"""`/api/v1/agentic-tests/{test}/comparison`: two sets of runs of one test side by side."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Query
from pydantic import Field

from parley.engine.stats.apart import Around
from parley.server.accounts.authenticator import Caller
from parley.server.accounts.callers import requires
from parley.server.agentic_tests import service
from parley.server.agentic_tests.compared import Comparison, RunSets
from parley.server.agentic_tests.run_sets import ComparedRun, Gap, RunSet
from parley.server.db.dependencies import SessionDep
from parley.server.errors import InvalidRequest, NotFound, PublicKeyRefused, ScopeMissing
from parley.server.kit.docs import answers_with
from parley.server.kit.requests import PathId, room_router
from parley.server.kit.schemas import Answer, IdIn, Instant, InstantIn, Reply, Usd

router = room_router("/agentic-tests/{test_id}/comparison", "runs")

LONGEST_REVISION = 64
"""Characters: SHA-256 in hex."""


class WithInterval(Answer):
    """A figure and its interval."""

    value: float
    low: float
    high: float
    level: float = Field(description="Confidence of the interval.")


class Spread(Answer):
    """Median and 95th percentile, milliseconds; null where nothing was measured."""

    p50: int | None
    p95: int | None


class SetRun(Answer):
    """One run of a set."""

    id: UUID
    revision: str
    created_at: Instant
    state: str
    outcome: str | None
    score: float | None
    cost: Usd
    turns: int
    took_ms: int | None


class SetReply(Answer):
    """One side: figures are of executed runs, null where too few tell."""

    run_count: int
    executed_count: int = Field(description="Runs that were carried out to an outcome.")
    outcomes: dict[str, int] = Field(description="All runs by outcome, by state where there is none.")
    success: WithInterval | None = Field(description="Share of successes, with Wilson's interval.")
    score: WithInterval | None = Field(description="Mean score, with a bootstrap interval.")
    cost: WithInterval | None = Field(description="Mean cost in US dollars, with a bootstrap interval.")
    turns: float | None = Field(description="Mean number of turns.")
    took_ms: Spread = Field(description="From a run's start to its end.")
    answer_ms: Spread = Field(description="One call of the gateway.")
    runs: list[SetRun] = Field(description="Newest first, at most 300.")


class GapReply(Answer):
    """By how much the right side is above the left one; null where one of them tells too little."""

    success: WithInterval | None
    score: WithInterval | None
    cost: WithInterval | None


class DifferenceReply(Answer):
    """Something that is not the same in all runs."""

    kind: Literal["yardstick", "conditions", "subject", "runs"] = Field(
        description="All but `subject` make the sets not comparable."
    )
    field: str | None
    detail: str


class RevisionReply(Answer):
    """A revision that has runs to compare."""

    revision: str
    run_count: int
    first_at: Instant
    last_at: Instant


class RunsComparison(Answer):
    """Two sets of runs of one test."""

    comparable: bool
    differences: list[DifferenceReply]
    left: SetReply
    right: SetReply
    gap: GapReply | None = Field(description="Null where the sets are not comparable.")
    revisions: list[RevisionReply] = Field(
        description="The last 20 that ran, newest first; empty where two runs are compared."
    )


@router.get(
    "",
    summary="Compare runs of a test",
    responses=answers_with(InvalidRequest, PublicKeyRefused, ScopeMissing, NotFound),
)
async def compare_runs(
    test_id: PathId,
    caller: Annotated[Caller, requires("tests:read")],
    session: SessionDep,
    left_revision: Annotated[
        str | None, Query(max_length=LONGEST_REVISION, description="Default: the one that ran before.")
    ] = None,
    right_revision: Annotated[
        str | None, Query(max_length=LONGEST_REVISION, description="Default: the one that ran last.")
    ] = None,
    split_at: Annotated[
        InstantIn | None, Query(description="Compare runs that began before this moment with the rest.")
    ] = None,
    left_run: Annotated[IdIn | None, Query(description="Default: the run that ended before.")] = None,
    right_run: Annotated[IdIn | None, Query(description="Compare this run with one before.")] = None,
) -> Reply[RunsComparison]:
    """Two revisions (the default), the time before and after a moment, or two runs.

    Sets are the newest runs of each side that succeeded or failed, at most 300, out of the newest 5,000 of
    the test. They are comparable when they differ in the system under test alone; else `differences` tells
    why not, and `gap` is null.
    """
    _one_way(left_revision or right_revision, split_at, left_run or right_run)
    if left_run and not right_run:
        raise InvalidRequest.field("right_run", "is required with left_run")
    await service.require(session, caller.scope, test_id)
    sets = RunSets(session, caller.scope, test_id)
    return Reply(data=_told(await _found(sets, left_revision, right_revision, split_at, left_run, right_run)))


def _one_way(*ways: object) -> None:
    if sum(way is not None for way in ways) > 1:
        raise InvalidRequest.field("split_at", "choose one way: by revision, by time, or by run")


async def _found(
    sets: RunSets,
    left_revision: str | None,
    right_revision: str | None,
    split_at: datetime | None,
    left_run: UUID | None,
    right_run: UUID | None,
) -> Comparison:
    if right_run:
        return await sets.by_run(left_run, right_run)
    if split_at:
        return await sets.by_time(split_at)
    return await sets.by_revision(left_revision, right_revision)


def _told(found: Comparison) -> RunsComparison:
    return RunsComparison(
        comparable=found.gap is not None,
        differences=[DifferenceReply.model_validate(one) for one in found.differences],
        left=_set(found.left),
        right=_set(found.right),
        gap=None if found.gap is None else _gap(found.gap),
        revisions=[
            RevisionReply(
                revision=one.revision, run_count=one.runs, first_at=one.first_at, last_at=one.last_at
            )
            for one in found.revisions
        ],
    )


def _set(found: RunSet) -> SetReply:
    return SetReply(
        run_count=len(found.runs),
        executed_count=found.executed,
        outcomes=found.outcomes,
        success=_figure(found.success),
        score=_figure(found.score),
        cost=_figure(found.cost_usd, 9),
        turns=None if found.turns is None else round(found.turns, 2),
        took_ms=Spread(p50=found.took_ms[0], p95=found.took_ms[1]),
        answer_ms=Spread(p50=found.answer_ms[0], p95=found.answer_ms[1]),
        runs=[_run(run) for run in found.runs],
    )


def _run(run: ComparedRun) -> SetRun:
    return SetRun(
        id=run.id,
        revision=run.revision,
        created_at=run.created_at,
        state=run.state,
        outcome=run.outcome,
        score=None if run.score is None else float(run.score),
        cost=run.cost,
        turns=run.turns,
        took_ms=run.took_ms,
    )


def _gap(found: Gap) -> GapReply:
    return GapReply(
        success=_figure(found.success), score=_figure(found.score), cost=_figure(found.cost_usd, 9)
    )


def _figure(found: Around | None, places: int = 4) -> WithInterval | None:
    if found is None:
        return None
    low, high, level = found.interval.low, found.interval.high, found.interval.level
    return WithInterval(
        value=round(found.value, places), low=round(low, places), high=round(high, places), level=level
    )
