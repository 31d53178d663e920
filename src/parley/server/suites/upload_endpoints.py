"""`POST /api/v1/evals/runs`: a run that was played in the customer's own process becomes an evaluation."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any
from uuid import UUID

from pydantic import ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from parley.engine.script.faults import SuiteInvalid
from parley.engine.script.reading import problems_of, read_suite
from parley.engine.script.recheck_run import run_inconsistencies
from parley.engine.script.record import RunRecord
from parley.engine.script.status import Counts, Status
from parley.server.accounts.authenticator import Caller
from parley.server.accounts.callers import requires
from parley.server.attempts.sent import find_sent
from parley.server.db.database import Database
from parley.server.db.dependencies import DatabaseDep
from parley.server.errors import (
    AccountSuspended,
    IdempotencyConflict,
    InvalidRequest,
    PublicKeyRefused,
    RunInconsistent,
    ScopeMissing,
)
from parley.server.kit.clock import SystemClock
from parley.server.kit.docs import answers_with
from parley.server.kit.provide import provided
from parley.server.kit.requests import room_router
from parley.server.kit.schemas import Answer, Body, Reply
from parley.server.script_judge.grades import Grades
from parley.server.script_judge.judge import ScriptJudges
from parley.server.script_judge.keyed import graded_for
from parley.server.suites.begin import MOST_RUNS
from parley.server.suites.schemas import Source
from parley.server.suites.upload import Sent, keep_run, profile_of, sha256_of

router = room_router("/evals", "scripted suites")


class RunIn(Body):
    """A finished run."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)

    run: dict[str, Any] = Field(
        description="The run's record, as docs/reference/scripted-suites.md tells it, its suite included."
    )
    branch: Source | None = None
    pull_request: Source | None = None


class KeptRun(Answer):
    """Where it was kept."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)

    evaluation_id: UUID
    suite_id: UUID = Field(description="The stored suite, found by its id or made.")
    state: str
    status: Status
    counts: Counts


@router.post(
    "/runs",
    summary="Keep a run that was played elsewhere",
    responses=answers_with(
        InvalidRequest,
        RunInconsistent,
        IdempotencyConflict,
        PublicKeyRefused,
        ScopeMissing,
        AccountSuspended,
    ),
)
async def upload_run(
    caller: Annotated[Caller, requires("evaluations:write")],
    database: DatabaseDep,
    judges: Annotated[ScriptJudges, provided(ScriptJudges)],
    grades: Annotated[Grades, provided(Grades)],
    clock: Annotated[SystemClock, provided(SystemClock)],
    body: RunIn,
) -> Reply[KeptRun]:
    """Keeps a run as a completed evaluation; sent again, it is kept once.

    What follows from its own observations is worked out again: checks, statuses, evidence, counts, quotes.
    Criteria that are open because this service was out of reach are graded first, for keys with the scope
    `judge`.
    """
    run = await asyncio.to_thread(_checked, body.run)
    sha256 = await asyncio.to_thread(sha256_of, run)
    profile = profile_of(run.judge)
    if profile is not None and "judge" in caller.scopes and not await _is_kept(database, caller, run, sha256):
        run = await graded_for(caller, run, profile, judges, grades, clock)
    sent = Sent(run=run, sha256=sha256, branch=body.branch, pull_request=body.pull_request)
    return Reply(data=await _kept(database, caller, sent))


async def _is_kept(database: Database, caller: Caller, run: RunRecord, sha256: bytes) -> bool:
    async with database.session() as session:
        return await find_sent(session, caller.scope, run.run_id, sha256) is not None


async def _kept(database: Database, caller: Caller, sent: Sent) -> KeptRun:
    async with database.session() as session:
        row = await keep_run(session, caller.scope, sent)
        assert row.suite_id is not None, "a run is of a suite"
        return KeptRun(
            evaluation_id=row.id,
            suite_id=row.suite_id,
            state=row.state,
            status=sent.run.status,
            counts=sent.run.counts,
        )


def _checked(plain: dict[str, Any]) -> RunRecord:
    """The run. Raises `InvalidRequest` for what is no record, `RunInconsistent` for one that does not fit."""
    try:
        run = RunRecord.of_wire(plain)
        suite = read_suite(run.suite.wire())
    except ValidationError as invalid:
        problems = problems_of(invalid, RunRecord)
        raise InvalidRequest.faults(
            (f"run.{one.path}".rstrip("."), one.message) for one in problems
        ) from None
    except SuiteInvalid as invalid:
        raise InvalidRequest.faults(
            (f"run.suite.{one.path}", one.message) for one in invalid.problems
        ) from None
    if not 1 <= len(run.attempts) <= MOST_RUNS:
        raise InvalidRequest.field("run.attempts", f"must have 1 to {MOST_RUNS} items")
    run = run.model_copy(update={"suite": suite})
    found = run_inconsistencies(run)
    if found:
        raise RunInconsistent.of([(one.attempt_id, one.problem) for one in found])
    return run
